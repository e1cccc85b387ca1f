"""Saved slots seen from outside, and nodes called by hand."""

from tests.engine.beside import attempt, beside_torch


def same(x):
    return x


@beside_torch
def test_what_register_hooks_on_a_slot_takes(torch):
    x = torch.ones(3, requires_grad=True)

    class Saves(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    y = Saves.apply(x)
    tensor, nothing = y.grad_fn._raw_saved_tensors
    yield y.grad_fn.saved_tensors
    yield attempt(lambda: nothing.register_hooks(same, same))
    yield attempt(lambda: tensor.register_hooks(same)), attempt(lambda: tensor.register_hooks(1, 1))
    yield attempt(lambda: tensor.register_hooks(same, same)), attempt(lambda: tensor.register_hooks(same, same))
    never = (x * 2).grad_fn
    yield attempt(lambda: never._raw_saved_self.register_hooks(same, same))
    product = x * x
    yield attempt(lambda: product.grad_fn._raw_saved_self.register_hooks(lambda t: t.mul_(2), same))
    product = x * x
    yield attempt(lambda: product.grad_fn._raw_saved_self.register_hooks(lambda t: 5, lambda packed: packed))
    yield attempt(lambda: product.sum().backward())


@beside_torch
def test_a_freed_function_shows_no_slots(torch):
    class Saves(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    y = Saves.apply(torch.ones(3, requires_grad=True))
    y.sum().backward()
    yield attempt(lambda: y.grad_fn._raw_saved_tensors), attempt(lambda: y.grad_fn.saved_tensors)


@beside_torch
def test_a_slot_shows_an_edited_tensor_and_only_reading_it_for_backward_fails(torch):
    y = torch.zeros(2, requires_grad=True).exp()
    node = y.grad_fn
    y += 1
    yield node._raw_saved_result.data, attempt(lambda: node._saved_result)
    w = torch.ones(2, requires_grad=True)
    z = w * w
    w.data.mul_(3)  # not counted
    yield z.grad_fn._raw_saved_self.data, z.grad_fn._saved_self
    with torch.no_grad():
        w.mul_(3)
    yield z.grad_fn._raw_saved_self.data, attempt(lambda: z.grad_fn._saved_self)


@beside_torch
def test_slots_are_made_by_nodes_alone(torch):
    yield attempt(lambda: torch.autograd.SavedTensor())


@beside_torch
def test_a_node_can_be_called_by_hand(torch):
    x = torch.full((3,), 2.0, requires_grad=True)
    ones = torch.ones(3)
    square, total, first = (x * x).grad_fn, x.sum().grad_fn, x.unbind()[0].grad_fn
    yield square(ones), total(torch.ones(()))
    yield attempt(lambda: square()), attempt(lambda: square(ones, ones)), attempt(lambda: square(3))
    yield first(*ones.unbind()), first(torch.ones(()), None, None)
    with torch.no_grad():
        yield square(ones)
    yield x.grad
    y = x * x
    y.sum().backward()
    yield attempt(lambda: y.grad_fn(ones))


@beside_torch
def test_save_on_cpu_keeps_what_is_there_already(torch):
    x = torch.full((2,), 3.0, requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = x * x
    yield y.grad_fn._saved_self is x
    with torch.no_grad():
        x.mul_(5)
    y.sum().backward()  # hooks saved it: no version is checked
    yield x.grad
