"""Where no gradient arrives: hooks are called with None, and nothing is added anywhere."""

from tests.engine.beside import attempt, beside_torch


def cut(torch):
    """A function whose backward passes nothing on."""

    class Cut(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    return Cut.apply


@beside_torch
def test_hooks_on_the_way_of_no_gradient_get_none(torch):
    log = []
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: log.append(["leaf", g]))
    x.register_post_accumulate_grad_hook(lambda leaf: log.append(["filled", leaf.grad]))
    y = x * 2
    y.register_hook(lambda g: log.append(["inner", g]))
    y.retain_grad()
    end = y.grad_fn.next_functions[0][0]
    end.register_prehook(lambda grads: log.append(["before", grads]))
    end.register_hook(lambda into, grads: log.append(["after", into, grads]))
    cut(torch)(y).sum().backward()
    yield log, x.grad, y.grad
    log.clear()
    yield torch.autograd.grad(cut(torch)(x).sum(), x, allow_unused=True), log


@beside_torch
def test_hooks_of_outputs_that_were_not_used_get_none(torch):
    log = []
    a, b = torch.ones(2, requires_grad=True).unbind()
    a.register_hook(lambda g: log.append(["a", g]))
    b.register_hook(lambda g: log.append(["b", g]))
    b.backward()
    yield log


@beside_torch
def test_none_cannot_be_replaced(torch):
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: torch.ones(2))
    yield attempt(lambda: cut(torch)(x).sum().backward())


@beside_torch
def test_the_last_gradient_to_arrive_may_be_none(torch):
    for first, second in ((cut(torch), torch.neg), (torch.neg, cut(torch))):
        x = torch.ones(2, requires_grad=True)
        log = []
        x.register_hook(log.append)
        (first(x) + second(x)).sum().backward()
        yield log, x.grad


@beside_torch
def test_a_leaf_frozen_after_the_forward_is_not_filled(torch):
    log = []
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    x.register_hook(log.append)
    y = (x * w).sum()
    x.requires_grad_(False)
    y.backward(retain_graph=True)
    yield log, x.grad, w.grad
    x.requires_grad_()
    y.backward()
    yield x.grad, w.grad
