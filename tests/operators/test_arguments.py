"""What operators take beside tensors, and what comes of numpy's and Python's values, as in torch."""

import inspect
import itertools
import operator
from functools import partial

import numpy as np

import gradlab
from tests.engine.beside import attempt, beside_torch


@beside_torch
def test_a_list_is_no_operand(lib):
    x = lib.ones(2)
    actions = (operator.add, operator.mul, operator.sub, operator.truediv, operator.pow, operator.lt, lib.add)
    for other in ([1, 2], (1.0, 2.0), "ab", {1}, None):
        for action in actions:
            yield attempt(partial(action, x, other))
        yield attempt(partial(operator.add, other, x)), attempt(partial(lib.where, x > 0, x, other))
        yield attempt(partial(lib.ones(2).add_, other)), attempt(partial(lib.ones(2).copy_, other))
    for number in (2, 2.5, True, np.float32(2), np.float64(2), np.int64(2)):
        yield x + number, x * number, number * x, x / number, x**number, x < number


@beside_torch
def test_a_list_is_not_assigned(lib):
    for value in ([5.0], (1, 2), "a", None, np.ones(2)):
        x = lib.ones(2)
        yield attempt(partial(x.__setitem__, 0, value)), attempt(partial(x.__setitem__, slice(None), value))
        yield x
    x = lib.ones(3)
    x[0], x[1], x[2] = np.float64(3), lib.tensor(5), True
    yield x


@beside_torch
def test_truth_values_are_not_subtracted(lib):
    mask, x = lib.tensor([True, False]), lib.ones(2)
    yield attempt(lambda: 1 - mask)
    yield attempt(lambda: mask - 1)
    yield attempt(lambda: mask - mask)
    yield attempt(lambda: x - mask)
    yield attempt(lambda: mask - x)
    yield attempt(lambda: x - True)
    yield attempt(lambda: lib.sub(x, mask, alpha=2))
    yield attempt(lambda: lib.rsub(mask, x))
    yield attempt(lambda: x.clone().sub_(mask))
    yield attempt(lambda: +mask)
    yield attempt(lambda: -mask)
    yield mask + 1, mask * 2, mask + mask, ~mask, 1 - mask.float()


@beside_torch
def test_numpy_values_in_a_list_keep_their_dtype(lib):
    for data in (
        [np.ones(2)],
        [np.float64(1.5), 2],
        [np.float32(1.5), 2.5],
        [np.float16(1), 1],
        [np.int32(3)],
        [np.int8(1), np.uint8(2)],
        [True, np.int16(2)],
        [[np.float64(1)], [2]],
        [np.ones(2, dtype=np.float32), [1.0, 2.0]],
        [np.array([], dtype=np.float64)],
        [np.bool_(True)],
        [True, 2, 2.5],
        [[], []],
    ):
        yield lib.tensor(data), lib.as_tensor(data)
    yield lib.tensor([lib.tensor(1.0, dtype=lib.float64), lib.tensor(2)])
    yield lib.tensor([lib.ones(1), lib.ones(1)]), lib.tensor([lib.tensor(1), 2.5])
    for data in ([lib.ones(2), lib.ones(2)], {1, 2}, None, [1, None], "a", (x for x in [1])):
        yield attempt(partial(lib.tensor, data))


@beside_torch
def test_only_one_element_is_a_number(lib):
    for x in (lib.ones(2), lib.ones(0)):
        for kind in (float, int, complex):
            yield attempt(partial(kind, x))
        yield attempt(x.item)
    yield float(lib.ones(1, 1)), int(lib.tensor(2.7))


@beside_torch
def test_a_tensor_without_dims_is_formatted_as_a_number(lib):
    x = lib.tensor(2.5, requires_grad=True)
    yield f"{x} {x * 2} {lib.tensor(7)} {lib.tensor(True)} {x:.2f} {lib.tensor(3):>4}"
    yield str(x.detach()), f"{x.detach()!r}", f"{lib.ones(2)}"
    yield f"{lib.nn.Parameter(lib.tensor(1.5))}", str(lib.nn.Parameter(lib.ones(1)))
    yield attempt(lambda: f"{lib.ones(2):.2f}"), attempt(lambda: f"{lib.nn.Parameter(lib.tensor(1.5)):.2f}")


@beside_torch
def test_requires_grad_is_a_bool(lib):
    for value in (1, "yes", None):
        x = lib.ones(2)
        yield attempt(partial(setattr, x, "requires_grad", value))
        yield x.requires_grad


@beside_torch
def test_atan2_sends_nothing_on_at_the_origin(lib):
    for y, x in ((0.0, 0.0), (1e-30, 1e-30), (1.0, 0.0), (0.0, -1.0)):
        a, b = lib.tensor(y, requires_grad=True), lib.tensor(x, requires_grad=True)
        yield lib.autograd.grad(lib.atan2(a, b), (a, b))


@beside_torch
def test_a_new_tensors_requires_grad_is_a_bool(lib):
    x = lib.ones(2)
    makers = [partial(make, 2) for make in (lib.ones, lib.zeros, lib.empty, lib.eye, lib.rand, lib.randn)]
    makers += [partial(make, x) for make in (lib.ones_like, lib.zeros_like, lib.empty_like, lib.rand_like, lib.randn_like)]
    makers += [partial(lib.full, (2,), 1.0), partial(lib.full_like, x, 1.0), partial(lib.linspace, 0, 1, 3)]
    makers += [partial(lib.tensor, [1.0]), partial(lib.scalar_tensor, 1.0), partial(lib.arange, 2.0)]
    makers += [partial(x.new_tensor, [1.0]), partial(x.new_full, (2,), 1.0)]
    makers += [partial(make, 2) for make in (x.new_zeros, x.new_ones, x.new_empty)]
    for make in makers:
        for value in (True, False, 1, 0, "yes", np.True_, 1.0, [], None):
            made = attempt(partial(make, requires_grad=value))
            yield made if isinstance(made, str) else made.requires_grad
    for value in (1, "yes", None):
        yield attempt(partial(x.requires_grad_, value)), attempt(partial(lib.set_grad_enabled, value))


@beside_torch
def test_options_that_are_bools_take_nothing_else(lib):
    x, F, index = lib.tensor([[1.0, 3.0, 2.0], [3.0, 0.0, 1.0]]), lib.nn.functional, lib.tensor([0])
    reductions = "sum mean prod amax amin var std logsumexp any all argmax argmin max min median".split()
    actions = [partial(getattr(at, name), *first, 0) for name in reductions for at, first in ((lib, (x,)), (x, ()))]
    for value in (True, False, 1, 0, "yes", None, np.True_, np.int64(1), 1.0, []):
        for action in actions:
            yield attempt(lambda action=action, value=value: [*action(keepdim=value)])
        for method, name in (
            (x.sort, "descending"),
            (x.sort, "stable"),
            (x.argsort, "descending"),
            (partial(x.topk, 1), "largest"),
            (partial(x.isclose, x), "equal_nan"),
            (partial(x.index_put, (index,), x[:1]), "accumulate"),
            (x.nonzero, "as_tuple"),
            (partial(x.clone().copy_, x), "non_blocking"),
            (partial(x.to, lib.float64), "copy"),
            (x.numpy, "force"),
            (partial(F.batch_norm, lib.ones(2, 2), None, None, None, None), "training"),
            (partial(F.kl_div, x, x), "log_target"),
            (partial(F.avg_pool2d, lib.ones(1, 1, 4, 4), 2), "ceil_mode"),
            (partial(F.embedding, index, x), "scale_grad_by_freq"),
        ):
            result = attempt(partial(method, **{name: value}))
            yield name, result if isinstance(result, str) else "taken"


@beside_torch
def test_a_truth_value_is_no_int_and_numpys_ints_are(lib):
    x = lib.arange(6.0).view(2, 3)
    for value in (True, np.True_, 1.0, 1, np.int64(1)):
        for name in "sum cumsum chunk tril triu diag diagonal roll kthvalue topk squeeze unsqueeze stride size unbind".split():
            result = attempt(partial(getattr(x, name), value))
            yield name, result if isinstance(result, str | int) else "taken"
        yield attempt(lambda value=value: x.movedim(value, 0)), attempt(partial(x.amax, value))
        yield attempt(partial(lib.nn.functional.one_hot, lib.tensor([0]), value))
        yield attempt(lambda value=value: lib.randperm(value).tolist()), attempt(partial(lib.linspace, 0, 1, value))


@beside_torch
def test_what_alpha_may_be(lib):
    mask, whole, x = lib.tensor([True, False]), lib.tensor([1, 2]), lib.tensor([1.0, 2.0])
    for tensor, other in itertools.product((mask, whole, x), (mask, whole, x, 1, 1.5, True)):
        for alpha in (True, False, 2, 0, 1.0, 2.5, "yes", []):
            for function in (lib.add, lib.sub, lib.rsub):
                yield attempt(partial(function, tensor, other, alpha=alpha))
            yield attempt(partial(tensor.clone().add_, other, alpha=alpha))


@beside_torch
def test_strides_of_empty_tensors(lib):
    for shape in itertools.chain(*[itertools.product((0, 1, 2, 3), repeat=n) for n in range(5)]):
        x = lib.zeros(shape)
        yield x.stride(), x.exp().stride(), x.clone().stride(), [x.stride(d) for d in range(x.ndim)]
        yield lib.empty(shape).double().stride(), x.unsqueeze(0).squeeze(0).stride()


def test_functions_and_methods_show_their_parameters():
    shown = {
        "(input, *, out=None)": gradlab.exp,
        "(input, other, *, out=None)": gradlab.mul,
        "(input, dim=None, keepdim=False, *, dtype=None, out=None)": gradlab.sum,
        "(self)": gradlab.Tensor.exp,
        "(self, other)": gradlab.Tensor.mul,
        "(self, other, *, alpha=1)": gradlab.Tensor.add_,
        "(input, dim=None, dtype=None, *, out=None)": gradlab.softmax,
    }
    assert {text: str(inspect.signature(function)) for text, function in shown.items()} == {text: text for text in shown}
    for room in (gradlab, gradlab.nn.functional, gradlab.Tensor):
        for name, function in vars(room).items():
            if inspect.isfunction(function) and not name.startswith("_"):
                assert name in REFUSED or not {"options", "named"} & set(inspect.signature(function).parameters), name


REFUSED = {"cuda", "to_sparse", "mps", "xpu", "zero_"}  # these, and zero_, take whatever there is
