"""A backward inside a backward: how deep, what is called when it is over, and the checkpoints that are made of it."""

from tests.engine.beside import attempt, beside_torch, graph, warned


@beside_torch
def test_a_backward_may_start_others_however_deep(torch):
    class Down(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.level = x.item()
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if ctx.level > 0:
                with torch.enable_grad():
                    x = torch.tensor(ctx.level - 1, requires_grad=True)
                    Down.apply(x).backward()
                g = x.grad + 1
            return g

    x = torch.tensor(300.0, requires_grad=True)
    Down.apply(x).backward()
    yield x.grad
    yield torch.is_grad_enabled()


@beside_torch
def test_an_error_comes_up_from_the_depth(torch):
    class Down(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.level = x.item()
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if not ctx.level:
                raise ValueError("at the bottom")
            with torch.enable_grad():
                Down.apply(torch.tensor(ctx.level - 1, requires_grad=True)).backward()
            return g

    yield attempt(lambda: Down.apply(torch.tensor(100.0, requires_grad=True)).backward())


@beside_torch
def test_callbacks_are_called_when_their_backward_is_over(torch):
    log = []
    queue = torch.autograd.Variable._execution_engine.queue_callback

    class Told(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, name, inner):
            ctx.name, ctx.inner = name, inner
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            log.append(f"{ctx.name} runs")
            queue(lambda: (log.append(f"{ctx.name} over"), queue(lambda: log.append(f"{ctx.name} really"))))
            if ctx.inner:
                with torch.enable_grad():
                    Told.apply(torch.ones(1, requires_grad=True), "inner", False).backward()
            return g, None, None

    x = torch.ones(1, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda leaf: log.append("outer filled"))
    Told.apply(x, "outer", True).backward()
    yield log
    yield attempt(lambda: queue(print))


@beside_torch
def test_a_reentrant_checkpoint_fills_all_leaves_or_refuses(torch):
    from importlib import import_module

    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    x = torch.full((2,), 0.5, requires_grad=True)
    yield graph(checkpoint(torch.exp, x, use_reentrant=True).grad_fn)
    yield graph(checkpoint(torch.exp, x, use_reentrant=False).grad_fn)
    yield warned(lambda: checkpoint(torch.exp, x)), graph(checkpoint(torch.exp, x).grad_fn)
    yield attempt(lambda: torch.autograd.grad(checkpoint(torch.exp, x, use_reentrant=True).sum(), x))
    yield attempt(lambda: checkpoint(torch.exp, x, use_reentrant=True).sum().backward(inputs=[x]))
    yield x.grad is None
    checkpoint(torch.exp, x, use_reentrant=True).sum().backward()
    yield (x.grad == x.detach().exp()).all().item()
    yield torch.autograd.grad(checkpoint(torch.neg, x, use_reentrant=False).sum(), x)
