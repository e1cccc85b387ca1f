"""Matrices: products in every shape, einsum, inverse, singular values and the norms made of them."""

from __future__ import annotations

import builtins
import math

import numpy as np

from gradlab.engine import TensorBase, operator
from gradlab.errors import no_kernel
from gradlab.operators._arguments import axes, axis, check_listed
from gradlab.operators._views import count_write
from gradlab.operators.pointwise import mul, where
from gradlab.operators.reduction import amax, amin, sum, vector_norm
from gradlab.operators.shape import (
    cast,
    contiguous,
    diagonal,
    embedded,
    expand_to,
    movedim,
    mT,
    permute,
    reshape,
    swapped,
    t,
    unsafe_view,
    unsqueeze,
    view,
)

# -- the products that record one node each ------------------------------------------------------------------------------


_MASK = np.dtype(bool)


def _checked(name, dims):
    """A product of arrays with exactly so many dims each, and equal dtypes."""
    inner = -2 if dims[1] > 1 else 0
    product = np.matmul if dims[0] == 3 else np.ndarray.dot  # the same product at half the cost of a call

    def forward(self, other):
        a, b = self.shape, other.shape
        if (len(a), len(b)) != dims or a[-1] != b[inner] or (dims[0] == 3 and a[0] != b[0]):
            raise _product_error(name, dims, self, other)
        if self.dtype != other.dtype or self.dtype is _MASK:
            raise _product_error(name, dims, self, other)
        return product(self, other)

    return forward


def _product(a, b):
    """`a @ b` of two matrices in a formula; on arrays by the method that costs half as much a call."""
    return a.dot(b) if type(a) is np.ndarray else a @ b


def _product_error(name, dims, self, other):
    a, b = self.shape, other.shape
    if (len(a), len(b)) != dims:
        text = f"expected tensors of {dims[0]} and {dims[1]} dims, got {len(a)}D and {len(b)}D"
    elif a[-1] != b[-2 if len(b) > 1 else 0]:
        text = f"mat1 and mat2 shapes cannot be multiplied ({_by(a)} and {_by(b)}): the inner sizes differ"
    elif self.dtype == other.dtype == _MASK:
        return no_kernel(name, other.dtype)
    elif len(a) == 3 and a[0] != b[0]:
        text = f"both need the same number of matrices, got {_by(a)} and {_by(b)}"
    else:
        text = f"expected both tensors to have the same dtype, but got {self.dtype} and {other.dtype}"
    return RuntimeError(f"{name}: {text}")


def _by(shape):
    return "x".join(map(str, shape)) or "0-d"


_mm, _mv, _bmm, _dot = _checked("mm", (2, 2)), _checked("mv", (2, 1)), _checked("bmm", (3, 3)), _checked("dot", (1, 1))

mm = operator(
    "MmBackward0",
    lambda self, mat2: _mm(self, mat2),
    self=lambda g, mat2: _product(g, mat2.T),
    mat2=lambda g, self: _product(self.T, g),
)
mm_turned = operator(  # mat2 is a transposed matrix: its gradient is made transposed too, so that it lies in rows
    "MmBackward0",
    lambda self, mat2: _mm(self, mat2),
    self=lambda g, mat2: _product(g, mat2.T),
    mat2=lambda g, self: _product(g.T, self).T,
)
mv = operator(
    "MvBackward0",
    lambda self, vec: _mv(self, vec),
    self=lambda g, vec: g.reshape((-1, 1)) * vec,
    vec=lambda g, self: (self.T @ g.reshape((-1, 1))).reshape((-1,)),
)
bmm = operator(
    "BmmBackward0",
    lambda self, mat2: _bmm(self, mat2),
    self=lambda g, mat2: bmm(g, swapped(mat2, 1, 2)),
    mat2=lambda g, self: bmm(swapped(self, 1, 2), g),
)
dot = operator(
    "DotBackward0", lambda self, tensor: _dot(self, tensor), self=lambda g, tensor: g * tensor, tensor=lambda g, self: g * self
)


def _addmm(self, mat1, mat2, beta=1, alpha=1):
    out = _mm(mat1, mat2)
    _check_addend(self, out)
    if out.dtype.kind != "f":
        alpha, beta = int(alpha), int(beta)  # torch drops what integers cannot hold
    if alpha != 1:
        out *= alpha
    if beta:
        out += self if beta == 1 else self * beta
    return out


def _check_addend(self, out):
    if self.shape != out.shape[1:] and np.broadcast_shapes(self.shape, out.shape) != out.shape:
        raise RuntimeError(
            f"addmm: the size of the input {list(self.shape)} does not expand to that of the product "
            f"{list(out.shape)}"
        )
    if self.dtype != out.dtype:
        raise RuntimeError(f"addmm: expected self and mat1 to have the same dtype, but got {self.dtype} and {out.dtype}")


def _affine(self, mat1, mat2):
    out = _mm(mat1, mat2)
    if self.shape != out.shape[1:] or self.dtype is not out.dtype:
        _check_addend(self, out)
    out += self
    return out


def _times(g, beta):
    return g if beta == 1 else g * beta


addmm = operator(
    "AddmmBackward0",
    _addmm,
    self=_times,
    mat1=lambda g, mat2, alpha: _times(g @ mat2.T, alpha),
    mat2=lambda g, mat1, alpha: _times(mat1.T @ g, alpha),
)
addmm_turned = operator(
    "AddmmBackward0",
    _affine,
    self=lambda g: g,
    mat1=lambda g, mat2: _product(g, mat2.T),
    mat2=lambda g, mat1: _product(g.T, mat1).T,
)


# -- matmul: folded into the products above, as torch does it -------------------------------------------------------------

_squeezed = operator("SqueezeBackward4", lambda self, dim: self.squeeze(dim), self=lambda g, self_shape: g.reshape(self_shape))


def squeezed_in_place(product, dim):
    """As torch does it here: no view but the product itself, with a node name of its own and one version more."""
    result = _squeezed(product, dim)
    if isinstance(result, TensorBase):
        count_write(result)
    return result


def matmul(self, other):
    """The matrix product, with torch's rules for vectors (1-D) and batches (3-D and more).

    >>> import gradlab
    >>> gradlab.ones(2, 3, 4).matmul(gradlab.ones(4)).shape
    gradlab.Size([2, 3])
    """
    a, b = self.ndim, other.ndim
    if a == b == 2:
        return mm(self, other)
    if not a or not b:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if a == 1:
        if b == 1:
            return dot(self, other)
        if b == 2:
            return squeezed_in_place(mm(unsqueeze(self, 0), other), 0)
    elif a == 2 and b == 1:
        return mv(self, other)
    if _folds(self, other):
        return _folded(self, other) if a > b else _folded_right(self, other)
    return _batched(self, other)


def _folds(self, other):
    """Whether the batch of the larger one can become rows of one matrix without a copy that backward would regret."""
    large, small = (self, other) if self.ndim >= other.ndim else (other, self)
    if not (large.ndim >= 3 and small.ndim <= 2):
        return False
    if small.requires_grad:
        return True
    if large is other and self.ndim == 2:
        return False
    array = large._array if large is self else np.swapaxes(large._array, -1, -2)
    steps = zip(array.strides[:-2], array.strides[1:-1], array.shape[1:-1])
    return array.size == 0 or builtins.all([s == following * n for s, following, n in steps])


def _folded(self, other):
    shape = tuple(self.shape)
    rows = reshape(self, (math.prod(shape[:-1]), shape[-1]))
    if other.ndim == 1:
        return unsafe_view(mv(rows, other), shape[:-1])
    return unsafe_view(mm(rows, other), (*shape[:-1], other.shape[1]))


def _folded_right(self, other):
    turned = mT(other)
    if self.ndim == 1:
        return _folded(turned, self)
    return contiguous(mT(_folded(turned, t(self))))


def _batched(self, other):
    a = unsqueeze(self, 0) if self.ndim == 1 else self
    b = unsqueeze(other, 1) if other.ndim == 1 else other
    left, right = tuple(a.shape), tuple(b.shape)
    if left[-1] != right[-2]:
        raise RuntimeError(
            f"matmul: mat1 and mat2 shapes cannot be multiplied ({_by(self.shape)} and {_by(other.shape)}): "
            "the inner sizes differ"
        )
    try:
        batch = np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        raise RuntimeError(f"matmul: the batch dims of {_by(left)} and {_by(right)} do not match") from None
    flat = math.prod(batch)
    a = reshape(expand_to(a, (*batch, *left[-2:])), (flat, *left[-2:]))
    b = reshape(expand_to(b, (*batch, *right[-2:])), (flat, *right[-2:]))
    shape = batch + (left[-2:-1] if self.ndim > 1 else ()) + (right[-1:] if other.ndim > 1 else ())
    return unsafe_view(bmm(a, b), shape)


def outer(self, vec2):
    """Every product of an element of one vector with one of the other.

    >>> import gradlab
    >>> gradlab.outer(gradlab.tensor([1.0, 2.0]), gradlab.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    if self.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self and vec2, but got {self.ndim}-D and {vec2.ndim}-D")
    return mul(view(self, (-1, 1)), vec2)


# -- einsum and tensordot --------------------------------------------------------------------------------------------------


def _labels(term, ndim, wide):
    """The labels of one term of an equation; "..." stands for the numbers counted up to `wide`."""
    before, dots, after = term.partition("...")
    letters = len(before) + len(after)
    bad = [c for c in before + after if not (c.isalpha() and c.isascii())]
    if bad or ndim is not None and (letters > ndim or (letters < ndim and not dots)):
        raise RuntimeError(
            f"einsum(): the term {term!r} does not fit an operand with {ndim} dims, or holds something that is not a letter"
        )
    middle = list(range(wide)) if ndim is None else list(range(wide - (ndim - letters), wide))
    return [*before, *(middle if dots else []), *after]


def _parsed(equation, operands):
    """(labels of each operand, labels of the output)."""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise RuntimeError(f"einsum(): {len(terms)} terms in the equation {equation!r}, but {len(operands)} operands")
    wide = builtins.max([x.ndim - len(term.replace("...", "")) for term, x in zip(terms, operands) if "..." in term], default=0)
    found = [_labels(term, x.ndim, wide) for term, x in zip(terms, operands)]
    if arrow:
        out = _labels(right, None, wide)
    else:
        letters = [c for c in left if c.isalpha()]
        out = [*range(wide), *sorted([c for c in set(letters) if letters.count(c) == 1])]
    known = {label for labels in found for label in labels}
    if len(set(out)) != len(out) or not set(out) <= known | set(range(wide)):
        raise RuntimeError(f"einsum(): the output {right!r} repeats a label or has one that no operand has")
    return found, out


def _aligned(x, labels, order):
    """An operand with its dims in the common order: diagonals taken, missing dims of size 1 put in."""
    labels = list(labels)
    for label in [c for c in dict.fromkeys(labels) if labels.count(c) > 1]:
        while labels.count(label) > 1:
            one = labels.index(label)
            two = labels.index(label, one + 1)
            if x.shape[one] != x.shape[two]:
                raise RuntimeError(f"einsum(): label {label!r} is repeated with sizes {x.shape[one]} and {x.shape[two]}")
            x = movedim(diagonal(x, 0, one, two), -1, one)
            del labels[two]
    missing = [c for c in order if c not in labels]
    for _ in missing:
        x = unsqueeze(x, x.ndim)
    labels += missing
    return permute(x, [labels.index(c) for c in order])


def einsum(equation, *operands):
    """Sums of products by Einstein's convention, contracted from left to right.

    >>> import gradlab
    >>> gradlab.einsum("ij,jk->ik", gradlab.ones(2, 3), gradlab.ones(3, 4)).shape
    gradlab.Size([2, 4])
    """
    if not isinstance(equation, str):
        raise NotImplementedError("einsum(): gradlab takes an equation, einsum('i,i', v, v), and no lists of dims.")
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    check_listed(operands)
    labels, out = _parsed(equation, operands)
    rest = sorted({c for term in labels for c in term if c not in out}, key=str)
    order = [*out, *rest]
    _check_label_sizes(labels, operands)
    last = {c: builtins.max([n for n, term in enumerate(labels) if c in term], default=0) for c in order}
    parts = [_aligned(x, term, order) for x, term in zip(operands, labels)]
    result, summed = parts[0], range(len(out), len(order))
    alone = [d for d in summed if last[order[d]] == 0]
    if len(parts) == 1:
        return sum(result, alone) if alone else result
    for n, part in enumerate(parts[1:], 1):
        done = [d for d in summed if last[order[d]] == n or (n == 1 and d in alone)]
        result = _contracted(result, part, done)
    return reshape(result, tuple(result.shape[: len(out)])) if rest else result


def _check_label_sizes(labels, operands):
    known: dict = {}
    for term, x in zip(labels, operands):
        for label, size in zip(term, x.shape):
            if size != 1 and known.setdefault(label, size) != size:
                raise RuntimeError(f"einsum(): label {label!r} has size {size} in one operand and {known[label]} in another")


def _contracted(left, right, dims):
    """The product of two aligned operands, summed over `dims`, which stay as size 1."""
    only_left = [d for d in dims if right.shape[d] == 1 and left.shape[d] != 1]
    only_right = [d for d in dims if left.shape[d] == 1 and right.shape[d] != 1]
    left = sum(left, only_left, True) if only_left else left
    right = sum(right, only_right, True) if only_right else right
    dims = [d for d in dims if left.shape[d] != 1 or right.shape[d] != 1]
    return _pair_product(left, right, dims) if dims else mul(left, right)


def _pair_product(left, right, dims):
    free = [d for d in range(left.ndim) if d not in dims]
    both = [d for d in free if left.shape[d] != 1 and right.shape[d] != 1]
    lefts = [d for d in free if right.shape[d] == 1 and d not in both]
    rights = [d for d in free if d not in both and d not in lefts]
    size = lambda x, ds: math.prod([x.shape[d] for d in ds])  # noqa: E731
    a = reshape(permute(left, both + lefts + dims + rights), (size(left, both), size(left, lefts), size(left, dims)))
    b = reshape(permute(right, both + dims + rights + lefts), (size(right, both), size(right, dims), size(right, rights)))
    shape = [left.shape[d] for d in both + lefts] + [1] * len(dims) + [right.shape[d] for d in rights]
    order = both + lefts + dims + rights
    return permute(view(bmm(a, b), shape), [order.index(d) for d in range(len(order))])


def tensordot(a, b, dims=2):
    """The sum of products over the last dims of `a` and the first of `b`, or over two lists of dims.

    >>> import gradlab
    >>> gradlab.tensordot(gradlab.ones(2, 3, 4), gradlab.ones(3, 4, 5), dims=2).shape
    gradlab.Size([2, 5])
    """
    if isinstance(dims, int):
        if dims < 0 or dims > builtins.min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims >= 0 and at most the number of dims, but got dims={dims}")
        over_a, over_b = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        over_a, over_b = [[d] if isinstance(d, int) else list(d) for d in dims]
        over_a, over_b = [axis(d, a.ndim) for d in over_a], [axis(d, b.ndim) for d in over_b]
    if [a.shape[d] for d in over_a] != [b.shape[d] for d in over_b]:
        for one, two in zip(over_a, over_b):
            if a.shape[one] != b.shape[two] and 1 not in (a.shape[one], b.shape[two]):
                raise RuntimeError(f"contracted dimensions need to match, but got sizes {a.shape[one]} and {b.shape[two]}")
            a = sum(a, one, True) if b.shape[two] == 1 else a
            b = sum(b, two, True) if a.shape[one] == 1 else b
    free_a, free_b = [d for d in range(a.ndim) if d not in over_a], [d for d in range(b.ndim) if d not in over_b]
    inner = math.prod([a.shape[d] for d in over_a])
    left = reshape(permute(a, free_a + over_a), (math.prod([a.shape[d] for d in free_a]), inner))
    right = reshape(permute(b, over_b + free_b), (inner, math.prod([b.shape[d] for d in free_b])))
    return reshape(mm(left, right), [a.shape[d] for d in free_a] + [b.shape[d] for d in free_b])


# -- inverse, singular values, norms ---------------------------------------------------------------------------------------


def _square(A):
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"linalg.inv: A must be batches of square matrices, but they are {_by(A.shape)} matrices")
    return A


inverse = operator(
    "LinalgInvExBackward0",
    lambda A: (np.linalg.inv(_square(A)),),
    outputs=("inverse",),
    A=lambda g, inverse: -(_flip_last(inverse) @ (g @ _flip_last(inverse))),
)


def inv(A):
    """The inverse of a square matrix, or of each in a batch; RuntimeError for a singular one.

    >>> import gradlab
    >>> gradlab.linalg.inv(gradlab.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return inverse(A)[0]


def _flip_last(x):
    return swapped(x, x.ndim - 2, x.ndim - 1)


def _skew(x):
    return x - _flip_last(x)


def _row(S):
    return S.reshape((*S.shape[:-1], 1, S.shape[-1]))


def _column(S):
    return S.reshape((*S.shape, 1))


def _svd_grad(grads, U, S, Vh):
    """J. Townsend, Differentiating the singular value decomposition (2016), for real matrices."""
    gU, gS, gVh = grads
    k = S.shape[-1]
    middle = None if gS is None else embedded(gS, 0, gS.ndim - 1, gS.ndim)
    gaps = _row(S * S) - _column(S * S)
    gaps = where(gaps == 0, math.inf, gaps)
    for part in (
        None if gU is None else _skew(_flip_last(U) @ gU) / gaps * _row(S),
        None if gVh is None else _column(S) * (_skew(Vh @ _flip_last(gVh)) / gaps),
    ):
        middle = part if middle is None else middle if part is None else middle + part
    out = U @ middle @ Vh
    if gU is not None and U.shape[-2] > k:
        out = out + (gU - U @ (_flip_last(U) @ gU)) / _row(S) @ Vh
    if gVh is not None and Vh.shape[-1] > k:
        out = out + (U / _row(S)) @ (gVh - (gVh @ _flip_last(Vh)) @ Vh)
    return out


def _svd(A):
    with np.errstate(all="ignore"):  # Python code of numpy, whose warnings the filter of gradlab's does not know
        return tuple(np.linalg.svd(A, full_matrices=False))


svd = operator("LinalgSvdBackward0", _svd, outputs=("U", "S", "Vh"), A=_svd_grad)


def _singular_norm(self, ord, dims, keepdim):
    rest = [d for d in range(self.ndim) if d not in dims]
    values = svd(permute(self, [*rest, *dims]))[1]
    if ord == "nuc":
        out = sum(values, -1, keepdim)
    else:
        out = (amax if ord > 0 else amin)(values, -1, keepdim)
    if not keepdim:
        return out
    order = [*rest, *dims]
    return permute(unsqueeze(out, -1), [order.index(d) for d in range(self.ndim)])


def nuclear_norm(self, dim=None, keepdim=False):
    """The sum of a matrix's singular values."""
    dims = axes(dim, self.ndim)
    if len(dims) != 2:
        raise RuntimeError(f"the nuclear norm is of matrices: give two dims, not {len(dims)}")
    return _singular_norm(self, "nuc", dims, keepdim)


def _matrix_norm(self, ord, dims, keepdim):
    if ord == "fro":
        return vector_norm(self, 2, dims, keepdim)
    if ord == "nuc" or ord in (2, -2):
        return _singular_norm(self, ord, dims, keepdim)
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported: it is one of 'fro', 'nuc', 1, -1, 2, -2, inf, -inf")
    rows, columns = dims
    inner, outer = (rows, columns) if abs(ord) == 1 else (columns, rows)
    if not keepdim and inner < outer:
        outer -= 1
    sums = vector_norm(self, 1, inner, keepdim)
    return (amax if ord > 0 else amin)(sums, outer, keepdim)


def linalg_norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A vector's or a matrix's norm: of all elements without `ord` and `dim`, of a matrix for two dims.

    >>> import gradlab
    >>> gradlab.linalg.norm(gradlab.tensor([[3.0, 0.0], [4.0, 0.0]]), ord=1)
    tensor(7.)
    """
    if dtype is not None:
        A = cast(A, dtype)
    if isinstance(ord, str) and ord not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.norm: Order {ord!r} not supported")
    dims = axes(dim, A.ndim)
    if dim is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if ord is None:
        return vector_norm(A, 2, dim, keepdim)
    if dim is None and A.ndim not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D.")
    if len(dims) == 2:
        return _matrix_norm(A, ord, dims, keepdim)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: the norm {ord!r} is of matrices, and one dim is a vector")
    return vector_norm(A, ord, dims, keepdim)
