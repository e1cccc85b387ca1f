"""What old tutorials write, and what of it torch still takes: tensor types, volatile, numpy(), del."""

import numpy as np
import pytest

import gradlab
from tests.engine.beside import attempt, beside_torch, warned

TYPES = [kind + "Tensor" for kind in ("Float", "Double", "Half", "Byte", "Char", "Short", "Int", "Long", "Bool")]


@pytest.mark.parametrize("name", TYPES)
def test_tensor_types(name):
    @beside_torch
    def program(torch):
        kind = getattr(torch, name)
        yield kind([1, 0]), kind(2, 3).shape, kind().shape, str(kind.dtype).split(".")[1], kind.__name__
        yield kind(torch.Size([2])).shape, kind(np.ones(2, kind([0]).numpy().dtype))
        yield isinstance(kind([1]), kind), isinstance(np.ones(1), kind), isinstance(torch.ones(1), kind)
        x = torch.ones(2)
        yield x.type(kind), x.type(kind) is x, x.type(kind).type().split(".")[1]
        yield attempt(lambda: kind(1.5)), attempt(lambda: kind(torch.ones(1)))

    program()


@beside_torch
def test_volatile_is_gone(torch):
    x = torch.ones(1)
    yield x.volatile, warned(lambda: x.volatile)


@beside_torch
def test_numpy_of_a_tensor_that_requires_grad(torch):
    x = torch.ones(2, requires_grad=True)
    yield attempt(lambda: x.numpy())
    with torch.no_grad():
        yield x.numpy().tolist()
    yield attempt(lambda: x.numpy(force=True).tolist())


@beside_torch
def test_what_cannot_be_deleted(torch):
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    del x.grad
    yield x.grad
    for name in ("data", "requires_grad", "_grad_fn", "_backward_hooks", "grad_fn", "is_leaf", "nothing"):
        yield name, attempt(lambda name=name: delattr(x, name))
    x.note = 1
    del x.note
    yield hasattr(x, "note")


@beside_torch
def test_inference_tensors_are_told_from_others(torch):
    x = torch.ones(2)
    with torch.inference_mode():
        y = torch.ones(2)
        yield torch.is_inference(x), torch.is_inference(y), torch.is_inference(x + 1), torch.is_inference(x[:])
    yield torch.is_inference(y), torch.is_inference(y + 1), torch.is_inference(y[:]), torch.is_inference(y.clone())
    y2 = torch.ones(1)
    yield torch.is_inference(y2)


@beside_torch
def test_saved_variables_are_saved_tensors(torch):
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(warned(lambda: ctx.saved_variables))
            seen.append(ctx.saved_variables)
            return g * 2

    Double.apply(torch.ones(1, requires_grad=True)).backward()
    yield seen


@beside_torch
def test_what_says_where_a_tensor_is(torch):
    x = torch.ones(1)
    yield str(x.device), x.device.type, x.device == torch.device("cpu"), x.is_cuda, (x * 2).to(x.device).is_leaf


@beside_torch
def test_new_takes_the_dtype_along(torch):
    x = torch.ones(2, 3, dtype=torch.float64)
    yield x.new([1, 2]), x.new(2, 2).shape, x.new(x.size()).dtype is x.dtype, x.new().shape


@beside_torch
def test_an_inplace_function_is_a_function(torch):
    base = __import__(f"{torch.__name__}.autograd.function", fromlist=["InplaceFunction"]).InplaceFunction

    class Add(base):
        @staticmethod
        def forward(ctx, a, b):
            ctx.mark_dirty(a)
            return a.add_(b)

        @staticmethod
        def backward(ctx, g):
            return g, g

    a, b = torch.ones(2), torch.ones(2, requires_grad=True)
    out = Add.apply(a, b)
    out.sum().backward()
    yield out is a, b.grad
    yield attempt(lambda: base.apply(a))


def test_setting_an_attribute_of_a_tensor_or_node_is_pythons_own():
    """A __setattr__, __delattr__ or __getattr__ of ours makes each of the ten settings of an operation ten times as slow."""
    x = gradlab.ones(2, requires_grad=True)
    for kind in (type(x), gradlab.nn.Parameter, type((x * 2).grad_fn), type((x * 2).grad_fn.next_functions[0][0])):
        for name in ("__setattr__", "__delattr__", "__getattribute__"):
            assert getattr(kind, name) is getattr(object, name), (kind, name)
        assert not hasattr(kind, "__getattr__")
