"""Function: what forward may return and write, what backward is handed, and what is refused."""

import pytest

import gradlab
from tests.engine.beside import attempt, beside_torch, graph, warned


def add_into(torch):
    """forward writes b into a."""

    class AddInto(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.mark_dirty(a.add_(b))
            return a

        @staticmethod
        def backward(ctx, g):
            return g, 2 * g

    return AddInto.apply


def halves(torch):
    """Two views of the input."""

    class Halves(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1], x[1:]

        @staticmethod
        def backward(ctx, g, h):
            return torch.cat([g, h])

    return Halves.apply


@beside_torch
def test_outputs_that_are_no_tensors_get_none_and_the_others_zeros(torch):
    seen = []

    class Mixed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 3, x * 2, None, "text", x + 1

        @staticmethod
        def backward(ctx, *grads):
            seen.extend(grads)
            return grads[1]

    x = torch.ones(2, requires_grad=True)
    out = Mixed.apply(x)
    yield out, out[1].output_nr, out[4].output_nr
    out[1].sum().backward()
    yield seen, x.grad


@beside_torch
def test_writing_into_a_view_of_a_base_without_history_gives_the_base_one(torch):
    base, b = torch.ones(4), torch.ones(2, requires_grad=True)
    view = base[:2]
    result = add_into(torch)(view, b)
    yield result is view, graph(result.grad_fn), graph(base.grad_fn), base._version
    base.sum().backward()
    yield b.grad


@beside_torch
def test_a_dirty_leaf_that_requires_no_grad_becomes_the_functions_output(torch):
    a, b = torch.ones(2), torch.ones(2, requires_grad=True)
    result = add_into(torch)(a, b)
    yield result is a, graph(a.grad_fn), a.requires_grad


@beside_torch
def test_a_view_that_forward_made_and_wrote_starts_at_the_functions_node(torch):
    class Piece(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clone()[:1]
            y += 2
            return y

        @staticmethod
        def backward(ctx, g):
            return g.expand(3)

    out = Piece.apply(torch.ones(3, requires_grad=True))
    yield graph(out.grad_fn), out, out._is_view()
    yield attempt(lambda: out.add_(1))


@beside_torch
def test_several_outputs_that_are_views_may_not_be_written(torch):
    for out in halves(torch)(torch.ones(3, requires_grad=True).clone()):
        yield graph(out.grad_fn), attempt(lambda out=out: out.add_(1))


@beside_torch
def test_an_input_returned_as_it_is_becomes_a_view_that_may_not_be_written(torch):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(2, requires_grad=True) * 1
    out = Same.apply(x)
    yield out is x, out._is_view(), graph(out.grad_fn), attempt(lambda: out.add_(1))
    x.add_(1)
    yield attempt(lambda: out.grad_fn), attempt(lambda: out.sum().backward())


@beside_torch
def test_what_mark_dirty_takes(torch):
    class NotAnInput(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.mark_dirty(y)
            return y

    class NotReturned(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x * 2

    class AndAnother(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.mark_dirty(a.add_(b))
            return a, b * 2

    x = torch.ones(3, requires_grad=True)
    yield warned(lambda: NotAnInput.apply(x)), NotAnInput.apply(x)._version
    yield attempt(lambda: NotReturned.apply(x * 1))
    yield attempt(lambda: AndAnother.apply((x * 1)[:], x))  # the base's history can be rewritten for one output only
    yield attempt(lambda: AndAnother.apply(torch.ones(4)[:3], x))
    yield attempt(lambda: AndAnother.apply(torch.ones(4)[:3], x.detach()))
    yield attempt(lambda: AndAnother.apply(torch.ones(3), x))
    yield attempt(lambda: AndAnother.apply(x, x * 1))


@beside_torch
def test_edges_and_node_hooks_are_those_of_the_tensors_among_the_arguments(torch):
    class Weighted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, factor, x, text, y, z):
            ctx.needs = ctx.needs_input_grad
            return x * factor + y + z

        @staticmethod
        def backward(ctx, g):
            return None, g * 2, None, g, None

    x, y, z = (torch.ones(2, requires_grad=r) for r in (True, False, True))
    node = Weighted.apply(2, x, "text", y, z).grad_fn
    yield graph(node), node.needs
    log = []
    out = Weighted.apply(2, x, "text", y, z)
    out.grad_fn.register_hook(lambda into, grads: log.append([into, grads]))
    out.sum().backward()
    yield log, x.grad, z.grad


@beside_torch
def test_backward_and_vjp_are_one_thing_under_two_names(torch):
    class Vjp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            return g * 2

    class Both(Vjp):
        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(2, requires_grad=True)
    Vjp.apply(x).sum().backward()
    yield x.grad
    yield attempt(lambda: Both.apply(x).sum().backward())


@beside_torch
def test_an_instance_is_good_for_nothing(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    yield warned(Double)
    yield attempt(lambda: Double()(torch.ones(1)))


@beside_torch
def test_a_second_derivative_through_once_differentiable_fails_at_its_own_node(torch):
    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, None, g * x

    x, y = (torch.full((2,), float(i), requires_grad=True) for i in (2, 3))
    start = torch.ones(2, requires_grad=True)
    gx, gy = torch.autograd.grad(Times.apply(x, 5, y), (x, y), start, create_graph=True)
    yield gx, gy, graph(gx.grad_fn), graph(gy.grad_fn), gy.output_nr
    yield attempt(lambda: gx.sum().backward())
    (gx,) = torch.autograd.grad(Times.apply(x, 5, y), x, torch.ones(2), create_graph=True)
    yield gx.requires_grad


def test_errors_name_the_class():
    class Both(gradlab.autograd.Function):
        forward = staticmethod(lambda ctx, x: x * 2)
        backward = staticmethod(lambda ctx, g: g)
        vjp = staticmethod(lambda ctx, g: g)

    with pytest.raises(RuntimeError, match=r"Implementing both 'backward' and 'vjp'.*Both"):
        Both.apply(gradlab.ones(1, requires_grad=True)).backward()


@beside_torch
def test_arguments_by_name_are_put_in_their_place(lib):
    class Scale(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, a=3):
            return x * a

        @staticmethod
        def backward(ctx, g):
            return g * 7, None

    class Split(lib.autograd.Function):
        @staticmethod
        def forward(x, a=3):
            return x * a

        @staticmethod
        def setup_context(ctx, inputs, output):
            Split.inputs = inputs[1:]

        @staticmethod
        def backward(ctx, g):
            return g * 7, None

    x = lib.ones(1, requires_grad=True)
    yield lib.autograd.grad(Scale.apply(x, a=2), x), Scale.apply(x=x, a=2), attempt(lambda: Scale.apply(a=2))
    yield lib.autograd.grad(Split.apply(x), x), Split.inputs
    yield lib.autograd.grad(Split.apply(a=2, x=x), x), Split.inputs
