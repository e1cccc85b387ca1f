"""What hooks, Functions and requests may hand back or ask for, and what is refused, as in torch."""

import pytest

import gradlab
from tests.engine.beside import attempt, beside_torch


@beside_torch
def test_hooks_of_nodes_return_tuples(lib):
    results = {
        "nothing": lambda g: None,
        "a tensor": lambda g: g[0] * 3,
        "a tuple": lambda g: (g[0] * 3,),
        "a list": lambda g: [g[0] * 3],
        "too many": lambda g: (g[0], g[0], g[0]),
        "none of them": lambda g: (),
        "a number": lambda g: 3,
    }
    for result in results.values():
        x = lib.ones(2, requires_grad=True)
        y = x * 2
        y.grad_fn.register_prehook(result)
        yield attempt(y.sum().backward), x.grad
        x = lib.ones(2, requires_grad=True)
        y = x * 2
        y.grad_fn.register_hook(lambda into, out, result=result: result(into))
        yield attempt(y.sum().backward), x.grad


@beside_torch
def test_hooks_after_accumulation_return_nothing(lib):
    for result in (None, 5, [1], "tensor"):
        x = lib.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda p, result=result: p.grad if result == "tensor" else result)
        yield attempt((x * 2).sum().backward)


@beside_torch
def test_what_a_functions_backward_returns(lib):
    results = {
        "a tuple": lambda g: (g, g),
        "a list": lambda g: [g, g],
        "too few": lambda g: (g,),
        "too many": lambda g: (g, g, g),
        "more nones": lambda g: (g, g, None),
        "a number": lambda g: (3, g),
        "a list in a tuple": lambda g: ([g], g),
        "nothing": lambda g: None,
    }
    for result in results.values():

        class Product(lib.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                return a * b

            @staticmethod
            def backward(ctx, g, result=result):
                return result(g)

        a, b = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
        yield attempt(Product.apply(a, b).sum().backward), a.grad, b.grad


@beside_torch
def test_what_a_functions_forward_returns(lib):
    for form in (tuple, list, lambda pair: {"a": pair[0]}, lambda pair: pair[0]):

        class Pair(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x, form=form):
                return form((x * 2, x * 3))

            @staticmethod
            def backward(ctx, *grads):
                return sum(grads)

        found = Pair.apply(lib.ones(2, requires_grad=True))
        yield type(found).__name__ if isinstance(found, tuple | list | dict) else "tensor", found


@beside_torch
def test_pack_hooks_are_given_the_tensor_itself(lib):
    seen = []
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    with lib.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        y = x * x
        z = y * y
    yield [(t is x, t is y, t is z, t.requires_grad, t.is_leaf, t.grad_fn is not None) for t in seen]
    z.sum().backward()
    yield x.grad
    for write in (lambda t: t.add_(1), lambda t: t.detach().mul_(2)):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        with lib.autograd.graph.saved_tensors_hooks(lambda t, write=write: write(t), lambda t: t):
            yield attempt(lambda x=x: x * x)


@beside_torch
def test_nothing_is_recorded_in_inference_mode_whatever_is_switched_on(lib):
    x = lib.tensor([1.0, 2.0], requires_grad=True)

    @lib.enable_grad()
    def decorated(x):
        return x * 2

    with lib.inference_mode():
        with lib.enable_grad():
            yield x * 2, (x * 2).is_inference()
        with lib.set_grad_enabled(True):
            yield x * 2
        lib.set_grad_enabled(True)
        yield x * 2, decorated(x)
        with lib.inference_mode(False):
            yield x * 2
    with lib.no_grad(), lib.enable_grad():
        yield x * 2
    yield x * 2


@beside_torch
def test_zeros_in_the_place_of_nothing_can_be_derived_again(lib):
    x, y = lib.ones(2, requires_grad=True), lib.ones(3, requires_grad=True)
    for create in (True, False):
        yield lib.autograd.grad((x * x).sum(), [x, y], materialize_grads=True, create_graph=create)


@beside_torch
def test_gradients_to_start_from_are_tensors(lib):
    x = lib.ones(3, requires_grad=True)
    for g in ([1.0, 2.0, 3.0], "abc", 2.0, (1.0,), lib.ones(3)):
        yield attempt(lambda g=g: (x * 2).backward(g))
        yield attempt(lambda g=g: lib.autograd.grad(x * 2, x, g))


@beside_torch
def test_strict_jacobians_that_are_to_be_derived_depend_on_the_inputs(lib):
    functional = lib.autograd.functional
    x, v = lib.tensor([1.0, 2.0]), lib.tensor([1.0, 1.0])
    for function in (lambda a: a * 1, lambda a: a * a):
        for create in (True, False):
            yield attempt(lambda f=function, c=create: functional.jacobian(f, x, create_graph=c, strict=True).detach())
            yield attempt(lambda f=function, c=create: functional.vjp(f, x, v, create_graph=c, strict=True)[1].detach())
            yield attempt(lambda f=function, c=create: functional.hessian(lambda a: f(a).sum(), x, c, True).detach())


@pytest.mark.parametrize("result", [lambda x: 3, lambda x: (x, None), lambda x: "x"])
def test_gradcheck_compares_tensors(result):
    x = gradlab.ones(2, dtype=gradlab.float64, requires_grad=True)
    with pytest.raises(TypeError, match="returned"):
        gradlab.autograd.gradcheck(result, x)


@beside_torch
def test_gradcheck_of_masks(lib):
    x = lib.tensor([0.5, 2.0], dtype=lib.float64, requires_grad=True)
    for function in (lambda x: x > 1, lambda x: (x * 2, x > 1), lambda x: x.argmax(), lambda x: (x.sum(), x.argmax())):
        yield attempt(lambda f=function: lib.autograd.gradcheck(f, x))
