"""Which forms of a call are taken, and what a refused one raises: as in torch, form by form."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gradlab
from gradlab.operators import PUBLIC

torch = pytest.importorskip("torch")

FORMS = """
F.cross_entropy(m, lib.tensor([0, 1]), weight=lib.ones(3, requires_grad=True))
F.cross_entropy(m, lib.tensor([0, 1]), weight=lib.ones(3, requires_grad=True), label_smoothing=0.1)
F.cross_entropy(m, lib.ones(2, 3), weight=lib.ones(3, requires_grad=True))
F.cross_entropy(m, lib.tensor([0, 1]), weight=lib.ones(3, requires_grad=True).detach())
F.nll_loss(m, lib.tensor([0, 1]), weight=lib.ones(3, requires_grad=True))
F.nll_loss(lib.ones(2, 3, 2), lib.tensor([[0, 1], [1, 1]]), weight=lib.ones(3, requires_grad=True))
F.binary_cross_entropy(lib.ones(2) / 2, lib.ones(2), weight=lib.ones(2, requires_grad=True))
F.binary_cross_entropy_with_logits(lib.ones(2), lib.ones(2), weight=lib.ones(2, requires_grad=True))
F.binary_cross_entropy_with_logits(lib.ones(2), lib.ones(2), pos_weight=lib.ones(2, requires_grad=True))
F.batch_norm(m, lib.ones(3, requires_grad=True), lib.ones(3))
F.batch_norm(m, lib.ones(3), lib.ones(3, requires_grad=True), training=True)
lib.remainder(2.0, v)
2.0 % v
lib.remainder(v, 2.0)
lib.add(2, 3)
lib.div(2, 3)
lib.subtract(2.0, 3)
lib.floor_divide(2, 3)
lib.rsub(2, 3)
lib.pow(2, 3)
lib.pow(2, exponent=3)
lib.remainder(2, 3)
lib.xlogy(2, 3)
lib.bitwise_and(2, 3)
v.broadcast_to(2, 3)
v.broadcast_to(size=(2, 3))
lib.broadcast_to(v, 2, 3)
v.expand(size=(2, 3))
v.expand()
v.repeat(repeats=(2,))
v.repeat()
v.tile(dims=(2,))
v.tile()
lib.tile(v, 2)
lib.tile(v, dims=(2,))
v.view()
v.reshape()
v.reshape(shape=(3, 1))
lib.reshape(v, shape=(3, 1))
lib.reshape(v, 3)
lib.reshape(v, [3])
m.permute(dims=(1, 0))
m.permute()
lib.permute(m, dims=(1, 0))
lib.permute(m, 1, 0)
lib.movedim(lib.tensor(1.0), [], [])
lib.tensor(1.0).expand_as(lib.tensor(2.0))
m.flip()
m.flip(())
m.flip(dims=(0,))
m.flip(0, 1)
lib.flip(m, 0)
lib.flip(m, dims=(0,))
lib.zeros()
m.sum(lib.tensor(1))
m.mean(lib.tensor(1))
m.amax(lib.tensor(1))
m.squeeze(lib.tensor(1))
m.movedim(lib.tensor(1), 0)
m.roll(lib.tensor(1))
m.sum(axis=(0, 1), keepdims=True)
m.sum(dim=1, axis=1)
m.size(axis=0)
m.stride(axis=0)
m.swapaxes(axis0=0, axis1=1)
m.norm(axis=1)
lib.norm(m, axis=1)
lib.linalg.vector_norm(m, axis=1)
F.softmax(m, axis=1)
F.softmax(v)
F.softmax(m)
F.softmax(m, None)
F.softmax(lib.tensor(1.0))
F.log_softmax(lib.ones(2, 2, 2))
F.gelu(v, 'tanh')
F.gelu(v, approximate='tanh')
F.layer_norm(m, 3)
F.layer_norm(m, [3])
lib.add(v, v, alpha=lib.tensor(2.0, requires_grad=True))
lib.add(v, v, alpha=lib.tensor(2.0))
lib.add(v, v, alpha=lib.tensor([2.0]))
v.sub(v, alpha=lib.tensor(2.0, requires_grad=True))
v.clone().add_(v, alpha=lib.tensor(2.0, requires_grad=True))
v.addcmul(v, v, value=lib.tensor(2.0, requires_grad=True))
F.leaky_relu(v, lib.tensor(2.0, requires_grad=True))
F.elu(v, lib.tensor(2.0, requires_grad=True))
F.softplus(v, lib.tensor(2.0, requires_grad=True))
F.batch_norm(lib.ones(3), lib.zeros(3), lib.ones(3))
F.batch_norm(lib.ones(3), None, None, training=True)
F.batch_norm(lib.tensor(1.0), lib.zeros(1), lib.ones(1))
F.batch_norm(lib.tensor(1.0), None, None, training=True)
lib.Tensor(np.array([object()]))
lib.Tensor(np.array([1.0], dtype=object))
lib.Tensor(np.array(['a']))
lib.Tensor(np.array(['2020-01-01'], dtype='datetime64[D]'))
lib.Tensor(np.array([1], 'm8[s]'))
lib.Tensor(np.array([True]))
v.norm(p='a')
lib.norm(v, p='a')
lib.linalg.vector_norm(v, 'a')
lib.ones(3).index_add(0, lib.tensor([5]), lib.ones(1))
lib.ones(2, 3).index_add(1, lib.tensor([5]), lib.ones(2, 1))
lib.ones(2, 3).index_copy(1, lib.tensor([5]), lib.ones(2, 1))
F.nll_loss(lib.tensor(1.0), lib.tensor(0))
F.nll_loss(v, lib.tensor([0]))
F.nll_loss(v, lib.tensor([0, 1]))
F.nll_loss(v, lib.tensor([[0]]))
F.nll_loss(m, lib.tensor(0))
F.nll_loss(m, lib.tensor([[0, 1]]))
F.nll_loss(m, lib.zeros(2, 1).long())
F.nll_loss(lib.ones(2, 3, 2), lib.tensor(0))
F.nll_loss(lib.ones(2, 3, 2), lib.ones(2, 3).long())
F.cross_entropy(lib.tensor(1.0), lib.tensor(0))
F.cross_entropy(v, lib.tensor([0]))
F.cross_entropy(v, lib.tensor([0, 1, 0]))
lib.is_tensor(v), lib.is_tensor(3)
lib.argwhere(m)
m.argwhere()
F.relu_(v.detach())
F.relu_(v)
m.t().reshape(3, 2, 1)
m.t().flatten()
lib.ones(2, 3, 4, requires_grad=True).permute(2, 0, 1).flatten(1)
lib.ones(4, requires_grad=True)[::2].reshape(2, 1)
lib.ones(4, requires_grad=True)[2:].reshape(2, 1)
v.expand(2, 3).reshape(2, 1, 3)
lib.broadcast_tensors(m, v)[0] is m
lib.broadcast_tensors(m, v)[1]
F.mse_loss(m, lib.ones(3)).grad_fn.next_functions[0][0].name().rpartition(":")[2]
F.huber_loss(v, m).grad_fn.next_functions[0][0].name().rpartition(":")[2]
F.cosine_similarity(m, lib.ones(3))
"""
COMPLEX = "v ** 1j|1j ** v|v.pow(1j)|1j - v|v * 1j|v / 1j|v.clamp(1j)|lib.add(v, 1, alpha=1j)|lib.full((2,), 1j)".split("|")


def evaluated(lib, form):
    v = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    m = lib.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    return eval(form, {"lib": lib, "F": lib.nn.functional, "v": v, "m": m, "np": np})


def outcome(lib, form):
    """Values and the node's name, or the error's type."""
    try:
        found = evaluated(lib, form)
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        return type(error)
    if not lib.is_tensor(found):
        return found
    node = found.grad_fn and found.grad_fn.name().rpartition(":")[2]
    return [str(found.dtype).partition(".")[2], node, np.round(found.detach().numpy(), 4).tolist()]


@pytest.mark.parametrize("form", FORMS.strip().splitlines())
@pytest.mark.filterwarnings("ignore")
def test_a_form_is_taken_or_refused_as_in_torch(form):
    assert outcome(gradlab, form) == outcome(torch, form)


@pytest.mark.parametrize("form", COMPLEX)
def test_complex_numbers_are_refused_everywhere_in_the_same_words(form):
    with pytest.raises(NotImplementedError, match="no complex tensors"):
        evaluated(gradlab, form)


MORE = {  # what a function needs besides the dim
    "chunk": lambda lib: {"chunks": 1},
    "gather": lambda lib: {"index": lib.tensor([[0]])},
    "index_add": lambda lib: {"index": lib.tensor([0]), "source": lib.ones(2, 1)},
    "index_copy": lambda lib: {"index": lib.tensor([0]), "source": lib.ones(2, 1)},
    "index_fill": lambda lib: {"index": lib.tensor([0]), "value": 1.0},
    "index_select": lambda lib: {"index": lib.tensor([0])},
    "kthvalue": lambda lib: {"k": 1},
    "narrow": lambda lib: {"start": 0, "length": 1},
    "repeat_interleave": lambda lib: {"repeats": 2},
    "scatter": lambda lib: {"index": lib.tensor([[0]]), "src": lib.ones(1, 1)},
    "scatter_add": lambda lib: {"index": lib.tensor([[0]]), "src": lib.ones(1, 1)},
    "select": lambda lib: {"index": 0},
    "topk": lambda lib: {"k": 1},
    "unflatten": lambda lib: {"sizes": (1, 3)},
}


def takes_numpys_names(lib, name, as_method, options):
    x = lib.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    first = [x, x] if name in ("cat", "concat", "concatenate", "stack") else x
    options = {**options, **MORE.get(name, lambda lib: {})(lib)}
    try:
        getattr(x, name)(**options) if as_method else getattr(lib, name)(first, **options)
    except (TypeError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("options", [{"axis": 1}, {"dim": 1, "keepdims": True}], ids=["axis", "keepdims"])
@pytest.mark.parametrize("as_method", [False, True], ids=["function", "method"])
def test_numpys_names_are_taken_wherever_torch_takes_them(as_method, options):
    taken = [n for n in PUBLIC if takes_numpys_names(torch, n, as_method, options)]
    assert len(taken) >= 13
    assert [n for n in taken if not takes_numpys_names(gradlab, n, as_method, options)] == []


SOFTMAXES = [gradlab.nn.functional.softmax, gradlab.nn.functional.log_softmax, gradlab.nn.Softmax(), gradlab.nn.LogSoftmax()]


@pytest.mark.parametrize("softmax", SOFTMAXES)
def test_a_softmax_without_a_dim_warns_of_the_line_that_called_it(softmax):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        softmax(gradlab.ones(2))
    assert [w.filename for w in caught] == [__file__]
    assert "Implicit dimension choice" in str(caught[0].message)
