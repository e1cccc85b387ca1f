"""Docstrings of the operators that are made by `operator(...)`, where there is no `def` to write one under."""

from __future__ import annotations

DOCS: dict[str, str] = {
    "mul": """`self * other`, element by element; shapes are broadcast, dtypes promoted.

    >>> import gradlab
    >>> gradlab.mul(gradlab.tensor([1.0, 2.0]), gradlab.tensor([[3.0], [4.0]]))
    tensor([[3., 6.],
            [4., 8.]])
    """,
    "floor_divide": """`self / other` rounded down, element by element.

    It has no derivative: backward through it raises RuntimeError, as in torch.

    >>> import gradlab
    >>> gradlab.floor_divide(gradlab.tensor([-7, 7]), 2)
    tensor([-4,  3])
    """,
    "neg": """`-self`; RuntimeError for a bool tensor.

    >>> import gradlab
    >>> gradlab.neg(gradlab.tensor([1.0, -2.0]))
    tensor([-1.,  2.])
    """,
    "abs": """The absolute value of each element; the derivative at 0 is 0.

    >>> import gradlab
    >>> gradlab.abs(gradlab.tensor([-1.5, 2.0]))
    tensor([1.5000, 2.0000])
    """,
    "sign": """-1, 0 or 1: the sign of each element, in its dtype. The derivative is 0.

    >>> import gradlab
    >>> gradlab.sign(gradlab.tensor([-1.5, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """,
    "reciprocal": """`1 / self`, as floats.

    >>> import gradlab
    >>> gradlab.reciprocal(gradlab.tensor([2, 4]))
    tensor([0.5000, 0.2500])
    """,
    "sqrt": """The square root of each element, as floats; NaN for negative ones, and an infinite derivative at 0.

    >>> import gradlab
    >>> gradlab.sqrt(gradlab.tensor([4.0, -1.0]))
    tensor([2., nan])
    """,
    "rsqrt": """`1 / sqrt(self)`, as floats.

    >>> import gradlab
    >>> gradlab.rsqrt(gradlab.tensor([4.0, 0.25]))
    tensor([0.5000, 2.0000])
    """,
    "exp": """The exponential of each element, as floats.

    >>> import gradlab
    >>> gradlab.exp(gradlab.tensor([0, 1]))
    tensor([1.0000, 2.7183])
    """,
    "expm1": """`exp(self) - 1`, accurate also near 0.

    >>> import gradlab
    >>> gradlab.expm1(gradlab.tensor([0.0, 1.0]))
    tensor([0.0000, 1.7183])
    """,
    "log": """The natural logarithm of each element, as floats: -inf at 0, NaN below it.

    >>> import gradlab
    >>> gradlab.log(gradlab.tensor([1.0, 0.0]))
    tensor([0., -inf])
    """,
    "log2": """The logarithm to base 2, as floats.

    >>> import gradlab
    >>> gradlab.log2(gradlab.tensor([1, 8]))
    tensor([0., 3.])
    """,
    "log10": """The logarithm to base 10, as floats.

    >>> import gradlab
    >>> gradlab.log10(gradlab.tensor([1, 1000]))
    tensor([0., 3.])
    """,
    "log1p": """`log(1 + self)`, accurate also near 0.

    >>> import gradlab
    >>> gradlab.log1p(gradlab.tensor([0.0, 1.0]))
    tensor([0.0000, 0.6931])
    """,
    "logaddexp": """`log(exp(self) + exp(other))` of two tensors, without overflow.

    >>> import gradlab
    >>> gradlab.logaddexp(gradlab.tensor([0.0]), gradlab.tensor([0.0]))
    tensor([0.6931])
    """,
    "sigmoid": """`1 / (1 + exp(-self))`, as floats between 0 and 1.

    >>> import gradlab
    >>> gradlab.sigmoid(gradlab.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """,
    "erf": """The error function, `2 / sqrt(pi)` times the integral of `exp(-t ** 2)` from 0 to the element.

    Source: NIST Digital Library of Mathematical Functions, 7.2.1.

    >>> import gradlab
    >>> gradlab.erf(gradlab.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5205])
    """,
    "sin": """The sine of each element, in radians.

    >>> import gradlab
    >>> gradlab.sin(gradlab.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8415])
    """,
    "cos": """The cosine of each element, in radians.

    >>> import gradlab
    >>> gradlab.cos(gradlab.tensor([0.0, 1.0]))
    tensor([1.0000, 0.5403])
    """,
    "tan": """The tangent of each element, in radians.

    >>> import gradlab
    >>> gradlab.tan(gradlab.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5574])
    """,
    "asin": """The angle in radians, between -pi / 2 and pi / 2, whose sine the element is; NaN outside [-1, 1].

    >>> import gradlab
    >>> gradlab.asin(gradlab.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5708])
    """,
    "acos": """The angle in radians, between 0 and pi, whose cosine the element is; NaN outside [-1, 1].

    >>> import gradlab
    >>> gradlab.acos(gradlab.tensor([1.0, 0.0]))
    tensor([0.0000, 1.5708])
    """,
    "atan": """The angle in radians, between -pi / 2 and pi / 2, whose tangent the element is.

    >>> import gradlab
    >>> gradlab.atan(gradlab.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7854])
    """,
    "atan2": """The angle in radians, between -pi and pi, of the point (other, self): `atan(self / other)` in the right quadrant.

    >>> import gradlab
    >>> gradlab.atan2(gradlab.tensor([1.0, 1.0]), gradlab.tensor([1.0, -1.0]))
    tensor([0.7854, 2.3562])
    """,
    "sinh": """The hyperbolic sine, `(exp(x) - exp(-x)) / 2`.

    >>> import gradlab
    >>> gradlab.sinh(gradlab.tensor([0.0, 1.0]))
    tensor([0.0000, 1.1752])
    """,
    "cosh": """The hyperbolic cosine, `(exp(x) + exp(-x)) / 2`.

    >>> import gradlab
    >>> gradlab.cosh(gradlab.tensor([0.0, 1.0]))
    tensor([1.0000, 1.5431])
    """,
    "tanh": """The hyperbolic tangent, `sinh(x) / cosh(x)`, between -1 and 1.

    >>> import gradlab
    >>> gradlab.tanh(gradlab.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """,
    "floor": """Each element rounded down to a whole number, in its dtype. The derivative is 0.

    >>> import gradlab
    >>> gradlab.floor(gradlab.tensor([-1.5, 1.5]))
    tensor([-2.,  1.])
    """,
    "ceil": """Each element rounded up to a whole number, in its dtype. The derivative is 0.

    >>> import gradlab
    >>> gradlab.ceil(gradlab.tensor([-1.5, 1.5]))
    tensor([-1.,  2.])
    """,
    "trunc": """Each element rounded towards 0, in its dtype. The derivative is 0.

    >>> import gradlab
    >>> gradlab.trunc(gradlab.tensor([-1.5, 1.5]))
    tensor([-1.,  1.])
    """,
    "frac": """What `trunc` leaves: `self - trunc(self)`, with the sign of the element.

    >>> import gradlab
    >>> gradlab.frac(gradlab.tensor([-1.5, 2.25]))
    tensor([-0.5000,  0.2500])
    """,
    "maximum": """The larger of each pair of elements of two tensors; NaN where one is NaN. Ties share the gradient.

    >>> import gradlab
    >>> gradlab.maximum(gradlab.tensor([1.0, 5.0]), gradlab.tensor([3.0, 2.0]))
    tensor([3., 5.])
    """,
    "minimum": """The smaller of each pair of elements of two tensors; NaN where one is NaN. Ties share the gradient.

    >>> import gradlab
    >>> gradlab.minimum(gradlab.tensor([1.0, 5.0]), gradlab.tensor([3.0, 2.0]))
    tensor([1., 2.])
    """,
    "addcmul": """`self + value * tensor1 * tensor2`.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, 2.0])
    >>> gradlab.addcmul(x, x, x, value=10)
    tensor([11., 42.])
    """,
    "addcdiv": """`self + value * tensor1 / tensor2`.

    >>> import gradlab
    >>> x = gradlab.tensor([1.0, 2.0])
    >>> gradlab.addcdiv(x, x, gradlab.tensor([4.0, 4.0]), value=2)
    tensor([1.5000, 3.0000])
    """,
    "eq": """`self == other`, element by element, as bools. NaN equals nothing.

    >>> import gradlab
    >>> gradlab.eq(gradlab.tensor([1, 2]), gradlab.tensor([1, 3]))
    tensor([ True, False])
    """,
    "ne": """`self != other`, element by element, as bools.

    >>> import gradlab
    >>> gradlab.ne(gradlab.tensor([1, 2]), gradlab.tensor([1, 3]))
    tensor([False,  True])
    """,
    "lt": """`self < other`, element by element, as bools.

    >>> import gradlab
    >>> gradlab.lt(gradlab.tensor([1, 2, 3]), 2)
    tensor([ True, False, False])
    """,
    "le": """`self <= other`, element by element, as bools.

    >>> import gradlab
    >>> gradlab.le(gradlab.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """,
    "gt": """`self > other`, element by element, as bools.

    >>> import gradlab
    >>> gradlab.gt(gradlab.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """,
    "ge": """`self >= other`, element by element, as bools.

    >>> import gradlab
    >>> gradlab.ge(gradlab.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """,
    "logical_and": """True where both elements are not 0.

    >>> import gradlab
    >>> gradlab.logical_and(gradlab.tensor([0, 1, 2]), gradlab.tensor([1, 0, 1]))
    tensor([False, False,  True])
    """,
    "logical_or": """True where at least one of the elements is not 0.

    >>> import gradlab
    >>> gradlab.logical_or(gradlab.tensor([0, 1, 0]), gradlab.tensor([1, 0, 0]))
    tensor([ True,  True, False])
    """,
    "logical_xor": """True where exactly one of the elements is not 0.

    >>> import gradlab
    >>> gradlab.logical_xor(gradlab.tensor([0, 1, 2]), gradlab.tensor([1, 0, 1]))
    tensor([ True,  True, False])
    """,
    "logical_not": """True where the element is 0.

    >>> import gradlab
    >>> gradlab.logical_not(gradlab.tensor([0, 1, 2]))
    tensor([ True, False, False])
    """,
    "bitwise_and": """`self & other` of bools or integers, bit by bit.

    >>> import gradlab
    >>> gradlab.bitwise_and(gradlab.tensor([True, True]), gradlab.tensor([True, False]))
    tensor([ True, False])
    """,
    "bitwise_or": """`self | other` of bools or integers, bit by bit.

    >>> import gradlab
    >>> gradlab.bitwise_or(gradlab.tensor([1, 2]), 4)
    tensor([5, 6])
    """,
    "bitwise_xor": """`self ^ other` of bools or integers, bit by bit.

    >>> import gradlab
    >>> gradlab.bitwise_xor(gradlab.tensor([True, True]), gradlab.tensor([True, False]))
    tensor([False,  True])
    """,
    "bitwise_not": """`~self` of bools or integers: every bit turned.

    >>> import gradlab
    >>> gradlab.bitwise_not(gradlab.tensor([True, False]))
    tensor([False,  True])
    """,
    "isnan": """True where the element is NaN.

    >>> import gradlab
    >>> gradlab.isnan(gradlab.tensor([1.0, float("nan")]))
    tensor([False,  True])
    """,
    "isinf": """True where the element is infinite, of either sign.

    >>> import gradlab
    >>> gradlab.isinf(gradlab.tensor([1.0, float("-inf")]))
    tensor([False,  True])
    """,
    "isfinite": """True where the element is neither infinite nor NaN.

    >>> import gradlab
    >>> gradlab.isfinite(gradlab.tensor([1.0, float("inf"), float("nan")]))
    tensor([ True, False, False])
    """,
    "isclose": """True where `|self - other| <= atol + rtol * |other|`; two NaN count as close with `equal_nan=True`.

    >>> import gradlab
    >>> gradlab.isclose(gradlab.tensor([1.0, 1.0]), gradlab.tensor([1.000001, 1.1]))
    tensor([ True, False])
    """,
    "argmax": """The index of the largest element: of the flattened tensor, or along a dim. The first of equal ones.

    >>> import gradlab
    >>> x = gradlab.tensor([[1.0, 5.0], [7.0, 2.0]])
    >>> gradlab.argmax(x), gradlab.argmax(x, dim=1)
    (tensor(2), tensor([1, 0]))
    """,
    "argmin": """The index of the smallest element: of the flattened tensor, or along a dim. The first of equal ones.

    >>> import gradlab
    >>> x = gradlab.tensor([[1.0, 5.0], [7.0, 2.0]])
    >>> gradlab.argmin(x), gradlab.argmin(x, dim=1)
    (tensor(0), tensor([0, 1]))
    """,
    "any": """True when some element is not 0, of all or along dims.

    >>> import gradlab
    >>> gradlab.any(gradlab.tensor([[False, True], [False, False]]), dim=1)
    tensor([ True, False])
    """,
    "all": """True when no element is 0, of all or along dims.

    >>> import gradlab
    >>> gradlab.all(gradlab.tensor([[True, True], [False, True]]), dim=1)
    tensor([ True, False])
    """,
    "count_nonzero": """How many elements are not 0, of all or along dims.

    >>> import gradlab
    >>> gradlab.count_nonzero(gradlab.tensor([[1, 0], [2, 3]]), dim=1)
    tensor([1, 2])
    """,
    "bincount": """How often each of the numbers 0, 1, ... occurs in a vector of them; with `weights`, the sum of their weights.

    >>> import gradlab
    >>> gradlab.bincount(gradlab.tensor([0, 2, 2]), minlength=4)
    tensor([1, 0, 2, 0])
    """,
    "unique": """The different elements in order, as a vector.

    >>> import gradlab
    >>> gradlab.unique(gradlab.tensor([[3, 1], [1, 2]]))
    tensor([1, 2, 3])
    """,
    "mm": """The matrix product of (n, k) and (k, m): (n, m), without broadcasting.

    RuntimeError when the inner sizes differ or one is not a matrix; `matmul` takes other numbers of dims.

    >>> import gradlab
    >>> gradlab.mm(gradlab.tensor([[1.0, 2.0]]), gradlab.tensor([[3.0], [4.0]]))
    tensor([[11.]])
    """,
    "bmm": """The matrix products of a batch: (b, n, k) and (b, k, m) give (b, n, m), without broadcasting.

    >>> import gradlab
    >>> gradlab.bmm(gradlab.ones(5, 2, 3), gradlab.ones(5, 3, 4)).shape
    gradlab.Size([5, 2, 4])
    """,
    "mv": """The product of a matrix (n, k) and a vector (k,): (n,).

    >>> import gradlab
    >>> gradlab.mv(gradlab.tensor([[1.0, 2.0], [3.0, 4.0]]), gradlab.tensor([1.0, 10.0]))
    tensor([21., 43.])
    """,
    "dot": """The sum of the products of two vectors of one length and dtype.

    >>> import gradlab
    >>> gradlab.dot(gradlab.tensor([1.0, 2.0]), gradlab.tensor([3.0, 4.0]))
    tensor(11.)
    """,
    "addmm": """`beta * self + alpha * (mat1 @ mat2)`: matrices (n, k) and (k, m), and a tensor broadcast to (n, m).

    >>> import gradlab
    >>> gradlab.addmm(gradlab.tensor([1.0, 2.0]), gradlab.ones(2, 3), gradlab.ones(3, 2))
    tensor([[4., 5.],
            [4., 5.]])
    """,
    "relu": """`max(self, 0)`; its derivative at 0 is 0.

    >>> import gradlab
    >>> gradlab.relu(gradlab.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """,
    "relu_": """`relu`, written into the tensor itself, which is returned.

    >>> import gradlab
    >>> x = gradlab.tensor([-1.0, 2.0])
    >>> _ = gradlab.relu_(x)
    >>> x
    tensor([0., 2.])
    """,
}
