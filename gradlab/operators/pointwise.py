"""Element by element: arithmetic, powers and exponentials, rounding, choosing, comparing.

Each differentiable operator is one `operator(...)`: torch's node name, the numpy forward, one formula per input.
"""

from __future__ import annotations

import math

import numpy as np

from gradlab import dtypes
from gradlab.engine import TensorBase, operator
from gradlab.errors import check_in_range, check_no_bool, no_kernel
from gradlab.operators._arguments import is_number

zeros_like_grad = operator(None, lambda like: np.zeros_like(like))

tied = operator(
    "ZeroSlopeBackward0", lambda self, other: np.array(self), self=lambda g: g, other=lambda g, other: zeros_like_grad(other)
)


def tie(g, x):
    """`g`, recorded as depending on `x` with slope zero: torch's second derivative is zeros there, not missing."""
    return tied(g, x) if isinstance(g, TensorBase) else g


# -- arithmetic ----------------------------------------------------------------------------------------------------

plus = operator("AddBackward0", np.add, self=lambda g: g, other=lambda g: g, promote="common")
plus_scaled = operator(
    "AddBackward0",
    lambda self, other, alpha: _wrapping(np.add, self, _scaled(other, alpha)),
    self=lambda g: g,
    other=lambda g, alpha: g * alpha,
    promote="common",
)
minus = operator("SubBackward0", np.subtract, self=lambda g: g, other=lambda g: -g, promote="no bool")
minus_scaled = operator(
    "SubBackward0",
    lambda self, other, alpha: _wrapping(np.subtract, self, _scaled(other, alpha)),
    self=lambda g: g,
    other=lambda g, alpha: g * -alpha,
    promote="no bool",
)
rsub_tensor = operator(
    "RsubBackward0",
    lambda self, other, alpha=1: other - (self if alpha == 1 else self * alpha),
    self=lambda g, alpha: g * -alpha,
    other=lambda g: g,
    promote="no bool",
)
rsub_number = operator(
    "RsubBackward1",
    lambda self, other, alpha=1: _wrapping(np.subtract, other, self if alpha == 1 else self * alpha),
    self=lambda g, alpha: g * -alpha,
)
mul = operator("MulBackward0", np.multiply, self=lambda g, other: g * other, other=lambda g, self: g * self, promote="common")
divide = operator(
    "DivBackward0",
    np.true_divide,
    self=lambda g, other: g / other,
    other=lambda g, self, other: -g * ((self / other) / other),
    promote="float",
)
divide_number = operator("DivBackward1", lambda self, other: self / other, self=lambda g, other: g / other, promote="float")


def _floor_divided(self, other):
    return np.floor_divide(self, _divisor(other, self))


def _divisor(other, self):
    """torch divides no integers by zero; for floats the quotient is infinite or nan."""
    if not np.all(other) and np.size(self) and np.result_type(self, other).kind != "f":
        raise RuntimeError("ZeroDivisionError: an integer is divided by zero; convert with .float() first for inf or nan")
    return other


def _remainder(self, other):
    return _wrapping(np.remainder, self, _divisor(other, self))


def _divide_rounded(self, other, rounding_mode):
    if rounding_mode == "floor":
        return _floor_divided(self, other)
    if np.result_type(self, other).kind == "f":
        return np.trunc(np.true_divide(self, other))
    out = _floor_divided(self, other)
    return out + ((out < 0) & (out * other != self))


divide_rounded = operator(
    "DivBackward2", _divide_rounded, self=lambda g: zeros_like_grad(g), other=lambda g: zeros_like_grad(g), promote="numbers"
)
remainder_tensor = operator(
    "RemainderBackward1",
    _remainder,
    self=lambda g: g,
    other=lambda g, self, other: -g * divide_rounded(self, other, "floor"),
    promote="numbers",
)
remainder_number = operator("RemainderBackward0", _remainder, self=lambda g: g, promote="numbers")
neg = operator("NegBackward0", lambda self: _negative(self), self=lambda g: -g)
reciprocal = operator(
    "ReciprocalBackward0", lambda self: 1 / self, self=lambda g, result: -g * (result * result), promote="float"
)
abs = operator("AbsBackward0", np.abs, self=lambda g, self: g * sign(self), promote="numbers")
sign = operator(
    "SignBackward0",
    lambda self: self.copy() if self.dtype.kind == "b" else (self > 0).astype(self.dtype) - (self < 0),  # 0 for nan
    self=lambda g: zeros_like_grad(g),
)


def _scaled(other, alpha):
    return other * (dtypes.fitted(alpha, other.dtype) if isinstance(other, (np.ndarray, np.generic)) else alpha)


def _wrapping(ufunc, self, other):
    """ufunc of an array and a number, which wraps in a small integer dtype, as in torch."""
    try:
        return ufunc(self, other)
    except OverflowError:
        return ufunc(*dtypes.promoted([self, other], (0, 1), False))


def _negative(self):
    if self.dtype == bool:
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. Use `~` or logical_not().")
    return np.negative(self)


def add(self, other, *, alpha=1):
    """`self + alpha * other`.

    >>> import gradlab
    >>> gradlab.add(gradlab.tensor([1.0, 2.0]), 10, alpha=2)
    tensor([21., 22.])
    """
    if type(alpha) is not int or alpha != 1:
        alpha = _scale(alpha, self, other)
    return plus(self, other) if alpha == 1 else plus_scaled(self, other, alpha)


def _scale(alpha, *operands):
    """alpha, as torch takes it: no float for integers, and True and False for masks alone, for which numbers are that."""
    if isinstance(alpha, TensorBase):
        alpha = alpha.item()
    kinds = {np.asarray(getattr(x, "_array", x)).dtype.kind for x in operands}
    if type(alpha) is bool and kinds != {"b"}:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, (float, np.floating, np.bool_)) and "f" not in kinds:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    return bool(alpha) if kinds == {"b"} else alpha


def sub(self, other, *, alpha=1):
    """`self - alpha * other`.

    >>> import gradlab
    >>> gradlab.sub(gradlab.tensor([3.0, 4.0]), 1, alpha=2)
    tensor([1., 2.])
    """
    if type(alpha) is not int or alpha != 1:
        check_no_bool([getattr(x, "_array", x) for x in (self, other)])
        alpha = _scale(alpha, self, other)
    return minus(self, other) if alpha == 1 else minus_scaled(self, other, alpha)


def rsub(self, other, *, alpha=1):
    """`other - alpha * self`.

    >>> import gradlab
    >>> gradlab.rsub(gradlab.tensor([3.0, 4.0]), 1)
    tensor([-2., -3.])
    """
    if type(alpha) is not int:
        check_no_bool([getattr(x, "_array", x) for x in (self, other)])
        alpha = _scale(alpha, self, other)
    if is_number(other):
        check_no_bool([getattr(self, "_array", self), other])
        return rsub_number(as_float_if(self, other, alpha), other, alpha)
    return rsub_tensor(self, other, alpha)


def div(self, other, *, rounding_mode=None):
    """`self / other`, then rounded towards zero ("trunc") or down ("floor") if asked.

    >>> import gradlab
    >>> gradlab.div(gradlab.tensor([-7.0, 7.0]), 2, rounding_mode="floor")
    tensor([-4.,  3.])
    """
    if rounding_mode is None:
        return divide(self, other)
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', 'floor' but found {rounding_mode!r}")
    return divide_rounded(self, other, rounding_mode)


def _underivable(name):
    def formula(g):
        raise RuntimeError(f"derivative for aten::{name} is not implemented: torch has none either")

    return formula


floor_divide = operator(
    "NotImplemented", _floor_divided, promote="numbers", self=_underivable("floor_divide"), other=_underivable("floor_divide")
)
number_remainder = operator("NotImplemented", _remainder, other=_underivable("remainder"), promote="numbers")


def remainder(self, other):
    """What floor division leaves: the sign is `other`'s, as in Python.

    >>> import gradlab
    >>> gradlab.remainder(gradlab.tensor([-5, 5]), 3)
    tensor([1, 2])
    """
    if is_number(self):
        return number_remainder(self, as_float_if(other, self))
    return remainder_number(as_float_if(self, other), other) if is_number(other) else remainder_tensor(self, other)


def as_float_if(self, *numbers):
    """An integer tensor that meets a float becomes one of the default dtype, as in torch, and a mask that meets an int int64."""
    if isinstance(self, np.ndarray) or self.dtype.is_floating_point:
        return self
    if any(isinstance(n, (float, np.floating)) for n in numbers):
        return self.to(dtypes.get_default_dtype())
    met = any(type(n) is int or isinstance(n, np.integer) for n in numbers)
    return self.to(dtypes.int64) if met and self.dtype is dtypes.bool else self


def positive(self):
    """`self` itself.

    >>> import gradlab
    >>> gradlab.positive(gradlab.tensor([-1.0, 2.0]))
    tensor([-1.,  2.])
    """
    if self.dtype is dtypes.bool:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


def true_divide(self, other):
    """`self / other`.

    >>> import gradlab
    >>> gradlab.true_divide(gradlab.tensor([1, 2]), 4)
    tensor([0.2500, 0.5000])
    """
    return divide(self, other)


# -- powers, exponentials, trigonometry -----------------------------------------------------------------------------


def _power(self, exponent):
    try:
        out = self**exponent
        plain = out.dtype is not _INT8 or getattr(self, "dtype", _INT8) == _INT8
        return out if plain else out.astype(dtypes.result_dtype([self, exponent]))
    except OverflowError:  # a number among small integers: it wraps as the base alone
        if isinstance(self, np.ndarray):
            check_in_range(exponent, self.dtype)
            raise ValueError("Integers to negative integer powers are not allowed.") from None
        return _power(*dtypes.promoted([self, exponent], (0, 1), False))
    except ValueError:  # numpy has no negative integer powers of integers
        if not isinstance(exponent, np.ndarray):
            raise
        return np.where(exponent >= 0, self ** np.maximum(exponent, 0), np.where(np.abs(self) == 1, self ** (exponent & 1), 0))


_INT8 = np.dtype(np.int8)  # what numpy makes of a mask's power


def _power_grad(g, self, exponent):
    if exponent == 2 and not isinstance(g, TensorBase):
        return g * (self * 2)
    return zeros_like_grad(g) if exponent == 0 else g * (exponent * power_number(self, exponent - 1))


power_number = operator("PowBackward0", _power, self=_power_grad)
power = operator(
    "PowBackward1",
    _power,
    self=lambda g, self, exponent: where(exponent == 0, 0, g * (exponent * self ** (exponent - 1))),
    exponent=lambda g, self, exponent, result: g * where((self == 0) & (exponent >= 0), 0, result * log(self)),
    promote="numbers",
)
number_power = operator(
    "PowBackward2",
    lambda self, exponent: _power(self, exponent),
    exponent=lambda g, self, exponent, result: (
        g * where(exponent >= 0, 0, result * -math.inf) if self == 0 else g * (result * _log_number(self))
    ),
    promote="numbers",
)


def _log_number(number):
    return math.log(number) if number > 0 else math.nan


def pow(self, exponent):
    """`self ** exponent`; each may be a tensor or a number (one of them a tensor).

    >>> import gradlab
    >>> gradlab.pow(gradlab.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    if is_number(exponent):
        exponent = exponent.item() if isinstance(exponent, np.generic) else exponent
        return power_number(as_float_if(self, exponent), exponent)
    return number_power(self, as_float_if(exponent, self)) if is_number(self) else power(self, exponent)


def square(self):
    """`self ** 2`.

    >>> import gradlab
    >>> gradlab.square(gradlab.tensor([-3.0, 0.5]))
    tensor([9.0000, 0.2500])
    """
    return power_number(self, 2)


exp = operator("ExpBackward0", np.exp, self=lambda g, result: g * result, promote="float")
expm1 = operator("Expm1Backward0", np.expm1, self=lambda g, result: g * (result + 1), promote="float")
log = operator("LogBackward0", np.log, self=lambda g, self: g / self, promote="float")
log2 = operator("Log2Backward0", np.log2, self=lambda g, self: g / (self * math.log(2)), promote="float")
log10 = operator("Log10Backward0", np.log10, self=lambda g, self: g / (self * math.log(10)), promote="float")
log1p = operator("Log1PBackward0", np.log1p, self=lambda g, self: g / (self + 1), promote="float")
logaddexp = operator(
    "LogaddexpBackward0",
    np.logaddexp,
    self=lambda g, self, other: g / (1 + exp(other - self)),
    other=lambda g, self, other: g / (1 + exp(self - other)),
    promote="floats",
)
sqrt = operator("SqrtBackward0", np.sqrt, self=lambda g, result: g / (2 * result), promote="float")
rsqrt = operator("RsqrtBackward0", lambda self: 1 / np.sqrt(self), self=lambda g, result: -0.5 * g * result**3, promote="float")
sin = operator("SinBackward0", np.sin, self=lambda g, self: g * cos(self), promote="float")
cos = operator("CosBackward0", np.cos, self=lambda g, self: g * -sin(self), promote="float")
tan = operator("TanBackward0", np.tan, self=lambda g, result: g * (1 + result * result), promote="float")
asin = operator("AsinBackward0", np.arcsin, self=lambda g, self: g * rsqrt(1 - self * self), promote="float")
acos = operator("AcosBackward0", np.arccos, self=lambda g, self: g * -rsqrt(1 - self * self), promote="float")
atan = operator("AtanBackward0", np.arctan, self=lambda g, self: g / (self * self + 1), promote="float")


def _reciprocal_of_squares(self, other):
    """1 / (self² + other²), and 0 at the origin, where torch sends nothing on."""
    squares = self * self + other * other
    return where(squares == 0, 0, reciprocal(squares))


atan2 = operator(
    "Atan2Backward0",
    np.arctan2,
    self=lambda g, self, other: g * (other * _reciprocal_of_squares(self, other)),
    other=lambda g, self, other: g * (-self * _reciprocal_of_squares(self, other)),
    promote="float",
)
sinh = operator("SinhBackward0", np.sinh, self=lambda g, self: g * cosh(self), promote="float")
cosh = operator("CoshBackward0", np.cosh, self=lambda g, self: g * sinh(self), promote="float")
tanh = operator("TanhBackward0", np.tanh, self=lambda g, result: tanh_backward(g, result), promote="float")
tanh_backward = operator(
    "TanhBackwardBackward0",
    lambda grad_output, output: grad_output * np.subtract(1, output * output),
    grad_output=lambda g, output: tanh_backward(g, output),
    output=lambda g, grad_output, output: g * (-2 * output * grad_output),
)
sigmoid = operator(
    "SigmoidBackward0", lambda self: 1 / (1 + np.exp(-self)), self=lambda g, result: g * ((1 - result) * result), promote="float"
)


def _xlogy(self, other):
    other = other if isinstance(other, np.ndarray) else self.dtype.type(other)  # the log of a number would be a double
    return np.where((self == 0) & ~np.isnan(other), np.zeros((), np.result_type(self, other)), self * np.log(other))


xlogy_tensor = operator(
    "XlogyBackward0",
    _xlogy,
    self=lambda g, self, other: where((self == 0) & (other <= 0), 0, xlogy_tensor(g, other)),
    other=lambda g, self, other: g * self / other,
    promote="float",
)
number_xlogy = operator("XlogyBackward1", _xlogy, other=lambda g, self, other: g * self / other, promote="float")
xlogy_number = operator(
    "XlogyBackward2",
    _xlogy,
    self=lambda g, self, other: where((self == 0) & (other <= 0), 0, xlogy_number(g, other)),
    promote="float",
)


def xlogy(self, other):
    """`self * log(other)`, which is 0 where `self` is 0 (also at `other` 0).

    >>> import gradlab
    >>> gradlab.xlogy(gradlab.tensor([0.0, 2.0]), gradlab.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
    if is_number(other):
        return xlogy_number(self, other)
    return number_xlogy(self, other) if is_number(self) else xlogy_tensor(self, other)


# The float32 error function: x P(x^2) / Q(x^2), fitted for |x| <= 4 (beyond, float32 rounds erf to 1).
_ERF_P = (1.9868006e-06, 2.8456427e-04, 3.88326e-03, 5.3101485e-02, 1.9354307e-01, 1.1283791674)
_ERF_Q = (3.742028e-05, 1.18555131e-03, 1.520708188e-02, 1.15349179e-01, 5.04855635e-01, 1.0)
_erf_exact = np.vectorize(math.erf, otypes=[np.float64])


def _erf(self):
    if self.dtype == np.float64 or not self.size:
        return _erf_exact(self) if self.size else self.copy()
    x = np.clip(self, -4, 4, dtype=np.float32)
    square = x * x
    top, bottom = square * _ERF_P[0], square * _ERF_Q[0]
    for p in _ERF_P[1:-1]:
        top += p
        top *= square
    for q in _ERF_Q[1:-1]:
        bottom += q
        bottom *= square
    top += _ERF_P[-1]
    top *= x
    bottom += _ERF_Q[-1]
    top /= bottom
    return np.clip(top, -1, 1, dtype=self.dtype)


erf = operator("ErfBackward0", _erf, self=lambda g, self: 2 / math.sqrt(math.pi) * exp(-(self * self)) * g, promote="float")

# -- rounding ------------------------------------------------------------------------------------------------------


def _rounding(name, ufunc):
    forward = lambda self: ufunc(self) if self.dtype.kind == "f" else self.copy()  # noqa: E731
    return operator(name, forward, self=lambda g: zeros_like_grad(g), promote="numbers")


floor, ceil = _rounding("FloorBackward0", np.floor), _rounding("CeilBackward0", np.ceil)
trunc, round_whole = _rounding("TruncBackward0", np.trunc), _rounding("RoundBackward0", np.rint)
frac = operator("FracBackward0", lambda self: self - np.trunc(self), self=lambda g: g, promote="floats")
round_decimals = operator(
    "RoundBackward1", lambda self, decimals: self.round(decimals), self=lambda g: zeros_like_grad(g), promote="floats"
)


def round(self, *, decimals=None):
    """To the nearest integer (halves to the even one), or to so many decimals.

    >>> import gradlab
    >>> gradlab.round(gradlab.tensor([0.5, 1.5, 2.345])), gradlab.round(gradlab.tensor(2.345), decimals=1)
    (tensor([0., 2., 2.]), tensor(2.3000))
    """
    return round_whole(self) if decimals is None else round_decimals(self, decimals)


# -- choosing ------------------------------------------------------------------------------------------------------


def _where(condition, self, other):
    if condition.dtype != bool:
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}")
    if _is_zero(other) and _floats_shaped(self, condition):
        return masked(self, condition)
    if _is_zero(self) and _floats_shaped(other, condition):
        return masked(other, ~condition)
    return np.where(condition, self, other)


def _is_zero(value):
    return not isinstance(value, np.ndarray) and value == 0 and not np.signbit(value)


def _floats_shaped(x, condition):
    return isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.shape == condition.shape


def masked(x, keep):
    """x where `keep` holds, else 0 (also for inf). np.where waits for a branch at every element and takes ten times as long."""
    return (x.view(_BITS[x.itemsize]) * keep).view(x.dtype)


_BITS = {2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}
nonzero_rows = operator(None, lambda self: np.argwhere(self))
where_both = operator(
    "WhereBackward0",
    _where,
    self=lambda g, condition: where(condition, g, 0),
    other=lambda g, condition: where(condition, 0, g),
    promote="fitting",
)


def where(condition, self=None, other=None):
    """`self` where the condition holds, `other` elsewhere; with one argument, the indices where it holds.

    >>> import gradlab
    >>> x = gradlab.tensor([-1.0, 2.0])
    >>> gradlab.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    if self is None and other is None:
        rows = nonzero_rows(condition if condition.ndim else condition.reshape(1))
        return tuple([rows[:, n] for n in range(rows.shape[1])])
    return where_both(condition, self, other)


maximum = operator(
    "MaximumBackward0",
    np.maximum,
    self=lambda g, self, other: where(self < other, 0, where(self == other, g / 2, g)),
    other=lambda g, self, other: where(self > other, 0, where(self == other, g / 2, g)),
    promote="common",
)
minimum = operator(
    "MinimumBackward0",
    np.minimum,
    self=lambda g, self, other: where(self > other, 0, where(self == other, g / 2, g)),
    other=lambda g, self, other: where(self < other, 0, where(self == other, g / 2, g)),
    promote="common",
)


def _at_least(self, min, held=np.maximum):
    try:
        return held(self, min)
    except OverflowError:
        return held(self, dtypes.fitted(min, self.dtype))


def _clamp(self, min=None, max=None):
    out = self if min is None else _at_least(self, min)
    return out if max is None else _at_least(out, max, np.minimum)


def _inside(self, min, max):
    if max is None:
        return self >= min
    return self <= max if min is None else (self >= min) & (self <= max)


def _clamp_min_grad(g, self, min, max):
    return where(self < min if max is None else (self < min) & (min < max), g, 0)


def _clamp_max_grad(g, self, min, max):
    return where(self > max if min is None else (self > max) | (max < min), g, 0)


clamp_numbers = operator(
    "ClampBackward1", _clamp, self=lambda g, self, min, max: where(_inside(self, min, max), g, 0), promote="numbers"
)
clamp_tensors = operator(
    "ClampBackward0",
    _clamp,
    self=lambda g, self, min, max: where(_inside(self, min, max), g, 0),
    min=_clamp_min_grad,
    max=_clamp_max_grad,
    promote="common",
)
clamp_min_number = operator(
    "ClampMinBackward0",
    lambda self, min: _at_least(self, min),
    self=lambda g, self, min: where(self >= min, g, 0),
    promote="numbers",
)
clamp_min_tensor = operator(
    "ClampMinBackward1",
    lambda self, min: _at_least(self, min),
    self=lambda g, self, min: where(self >= min, g, 0),
    min=lambda g, self, min: where(self < min, g, 0),
    promote="common",
)
clamp_max_number = operator(
    "ClampMaxBackward0",
    lambda self, max: _at_least(self, max, np.minimum),
    self=lambda g, self, max: where(self <= max, g, 0),
    promote="numbers",
)
clamp_max_tensor = operator(
    "ClampMaxBackward1",
    lambda self, max: _at_least(self, max, np.minimum),
    self=lambda g, self, max: where(self <= max, g, 0),
    max=lambda g, self, max: where(self > max, g, 0),
    promote="common",
)


def clamp(self, min=None, max=None):
    """`self` held between `min` and `max` (numbers or tensors; either may be left out).

    The derivative at a limit is 1, as in torch.

    >>> import gradlab
    >>> gradlab.clamp(gradlab.tensor([-2.0, 0.5, 3.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    given = [limit for limit in (min, max) if limit is not None]
    if any(map(is_number, given)):
        if any(not is_number(x) and (x.ndim or x.requires_grad) for x in given):
            raise TypeError("clamp(): argument 'min' and 'max' must both be numbers, or both tensors")
        min, max = [limit if limit is None or is_number(limit) else limit.item() for limit in (min, max)]
        return clamp_numbers(as_float_if(self, min, max), min, max)
    return clamp_tensors(self, min, max)


def clamp_min(self, min):
    """`self`, at least `min`.

    >>> import gradlab
    >>> gradlab.clamp_min(gradlab.tensor([-2.0, 3.0]), 0)
    tensor([0., 3.])
    """
    return clamp_min_number(as_float_if(self, min), min) if is_number(min) else clamp_min_tensor(self, min)


def clamp_max(self, max):
    """`self`, at most `max`.

    >>> import gradlab
    >>> gradlab.clamp_max(gradlab.tensor([-2.0, 3.0]), 1)
    tensor([-2.,  1.])
    """
    return clamp_max_number(as_float_if(self, max), max) if is_number(max) else clamp_max_tensor(self, max)


def _lerp(self, end, weight):
    if self.dtype != end.dtype:
        raise RuntimeError(f"expected dtype {self.dtype} for `end` but got dtype {end.dtype}")
    if self.dtype.kind != "f":
        raise no_kernel("lerp", self.dtype)
    return np.where(np.abs(weight) < 0.5, self + (end - self) * weight, end - (end - self) * (1 - weight))


lerp_number = operator("LerpBackward0", _lerp, self=lambda g, weight: g * (1 - weight), end=lambda g, weight: g * weight)
lerp_tensor = operator(
    "LerpBackward1",
    _lerp,
    self=lambda g, weight: g * (1 - weight),
    end=lambda g, weight: g * weight,
    weight=lambda g, self, end: g * (end - self),
)


def lerp(self, end, weight):
    """From `self` to `end`, the fraction `weight` of the way.

    >>> import gradlab
    >>> gradlab.lerp(gradlab.tensor([0.0, 10.0]), gradlab.tensor([1.0, 20.0]), 0.25)
    tensor([ 0.2500, 12.5000])
    """
    return lerp_number(self, end, weight) if is_number(weight) else lerp_tensor(self, end, weight)


def nan_to_num(self, nan=None, posinf=None, neginf=None):
    """NaN becomes 0 (or `nan`), the infinities the largest numbers of the dtype (or the given ones).

    >>> import gradlab
    >>> gradlab.nan_to_num(gradlab.tensor([float("nan"), float("inf"), 1.0]), posinf=100.0)
    tensor([  0., 100.,   1.])
    """
    return finite(self, nan, posinf, neginf)


finite = operator(
    "NanToNumBackward0",
    lambda self, nan, posinf, neginf: np.nan_to_num(self, nan=nan or 0.0, posinf=posinf, neginf=neginf),
    self=lambda g, self: g * isfinite(self),
)
addcmul = operator(
    "AddcmulBackward0",
    lambda self, tensor1, tensor2, value=1: self + dtypes.fitted(value, self.dtype) * tensor1 * tensor2,
    self=lambda g: g,
    tensor1=lambda g, tensor2, value: g * (tensor2 * value),
    tensor2=lambda g, tensor1, value: g * (tensor1 * value),
    promote="numbers",
)
addcdiv = operator(
    "AddcdivBackward0",
    lambda self, tensor1, tensor2, value=1: self + value * tensor1 / tensor2,
    self=lambda g: g,
    tensor1=lambda g, tensor2, value: g * (value / tensor2),
    tensor2=lambda g, tensor1, tensor2, value: -g * (value * tensor1 / (tensor2 * tensor2)),
    promote="floats",
)

# -- comparing: no derivative --------------------------------------------------------------------------------------------

eq = operator(None, np.equal, promote="common")
ne = operator(None, np.not_equal, promote="common")
lt = operator(None, np.less, promote="common")
le = operator(None, np.less_equal, promote="common")
gt = operator(None, np.greater, promote="common")
ge = operator(None, np.greater_equal, promote="common")
logical_and = operator(None, np.logical_and)
logical_or = operator(None, np.logical_or)
logical_xor = operator(None, np.logical_xor)
logical_not = operator(None, np.logical_not)
bitwise_and = operator(None, np.bitwise_and, promote="common")
bitwise_or = operator(None, np.bitwise_or, promote="common")
bitwise_xor = operator(None, np.bitwise_xor, promote="common")
bitwise_not = operator(None, np.bitwise_not)
isnan = operator(None, np.isnan)
isinf = operator(None, np.isinf)
isfinite = operator(None, np.isfinite)


def _isclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    if self.dtype != other.dtype:
        raise RuntimeError(f"isclose and allclose compare tensors of one dtype, not {self.dtype} with {other.dtype}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    return np.isclose(self, other, rtol, atol, equal_nan)


isclose = operator(None, _isclose)


def comparable(other):
    """Whether `==` with a tensor compares element by element."""
    return is_number(other) or isinstance(other, (TensorBase, np.ndarray))


def allclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True when every `|self - other| <= atol + rtol * |other|`.

    >>> import gradlab
    >>> gradlab.allclose(gradlab.tensor([1.0, 2.0]), gradlab.tensor([1.0, 2.00001]))
    True
    """
    return bool(isclose(self, other, rtol, atol, equal_nan).all())


def equal(self, other):
    """True when both have the same shape and the same elements.

    >>> import gradlab
    >>> x = gradlab.tensor([1, 2])
    >>> gradlab.equal(x, gradlab.tensor([1, 2])), gradlab.equal(x, gradlab.tensor([1]))
    (True, False)
    """
    return self.shape == other.shape and bool(eq(self, other).all())
