"""What operators take beside tensors, and what comes of numpy's and Python's values, as in torch."""

import operator
from functools import partial

import numpy as np

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
