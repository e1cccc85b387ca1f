"""why(): its answers for modules and optimizers, and that looking changes nothing."""

import gc
import re
import urllib.parse
import warnings
import weakref

import pytest

import gradlab
from gradlab.diagnosis import CAUSES, Diagnoses, Diagnosis, why
from gradlab.diagnosis.picture import marks

torch = pytest.importorskip("torch")


@pytest.fixture(params=["torch", "gradlab"])
def T(request):
    return torch if request.param == "torch" else gradlab


def test_causes_are_the_promised_closed_list():
    assert CAUSES == (
        "has-grad", "not-required", "non-leaf", "rebound", "not-reached", "no-backward-yet", "not-differentiable-dtype",
        "nan", "inf", "all-zero", "unknown", "detached", "data-attribute", "left-torch", "rebuilt", "no-grad-mode",
        "inference-mode", "non-differentiable-op", "function-returned-none", "cleared", "frozen-after-forward",
    )  # fmt: skip


def test_a_diagnosis_speaks_of_this_tensor():
    weights = torch.ones(3, 2, requires_grad=True)
    hidden = weights * 2
    found = why(hidden, hidden.sum())
    assert isinstance(found, Diagnosis)
    assert (found.name, found.shape, found.dtype) == ("hidden", (3, 2), "float32")
    assert "`hidden`" in found.explanation and "MulBackward0" in found.explanation
    assert found.evidence == ["loss", "SumBackward0", "MulBackward0", "hidden"]
    assert found.remedy.startswith("hidden.retain_grad()")


class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.spare = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)

    def forward(self, x):
        return self.used(x)


def test_a_module_gives_one_answer_a_parameter():
    model = Two()
    loss = model(torch.ones(4, 2)).sum()
    loss.backward()
    found = why(model, loss)
    assert isinstance(found, Diagnoses)
    assert {each.name: each.cause for each in found} == {
        "used.weight": "has-grad", "used.bias": "has-grad", "spare.weight": "not-reached", "spare.bias": "not-reached",
    }  # fmt: skip
    assert [each.name for each in found.without_grad] == ["spare.weight", "spare.bias"]
    assert "2 of 4 parameters have no usable gradient" in found.text()
    assert found._repr_mimebundle_()["text/html"].count("<tr>") == 5


def test_an_optimizer_also_tells_what_it_lacks():
    model = Two()
    optimizer = torch.optim.SGD([*model.spare.parameters(), model.used.bias], lr=0.1)
    loss = model(torch.ones(4, 2)).sum()
    found = why(optimizer, loss)
    assert {each.name: each.cause for each in found} == {
        "model.spare.weight": "not-reached", "model.spare.bias": "not-reached", "model.used.bias": "no-backward-yet",
    }  # fmt: skip
    assert found.lacking == ["model.used.weight"]
    assert "lacks" in found.text()


def test_an_optimizer_built_before_the_parameter_was_replaced():
    layer = torch.nn.Linear(2, 1, bias=False)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer.weight = torch.nn.Parameter(layer.weight.detach().double())
    loss = layer(torch.ones(1, 2, dtype=torch.float64)).sum()
    loss.backward()
    found = why(optimizer, loss)
    assert [each.cause for each in found] == ["not-reached"]
    assert found.lacking == ["layer.weight"]


def test_a_shared_parameter_is_asked_once():
    a = torch.nn.Linear(2, 2, bias=False)
    b = torch.nn.Linear(2, 2, bias=False)
    b.weight = a.weight
    model = torch.nn.Sequential(a, b)
    loss = model(torch.ones(1, 2)).sum()
    loss.backward()
    assert [(each.name, each.cause) for each in why(model, loss)] == [("0.weight", "has-grad")]


def test_several_losses(T):
    a, b, c = (T.tensor(2.0, requires_grad=True) for _ in range(3))
    assert why(b, (a * a, b * b)).cause == "no-backward-yet"
    assert why(c, [a * a, b * b]).cause == "not-reached"


def test_unknown_offers_a_watch_or_asks_for_the_loss(T):
    x = T.tensor([3.0, 4.0], requires_grad=True)
    assert "why(x, loss)" in why(x).remedy
    loss = (x * x).sum()
    loss.backward()
    x.grad = None
    found = why(x, loss)
    assert found.cause == "unknown"
    assert "gradlab.watch()" in found.remedy


@pytest.mark.parametrize("wrong", [None, 3, "w", [1.0]])
def test_something_else_is_refused_with_its_name(wrong):
    with pytest.raises(TypeError, match="takes a tensor of gradlab or torch, a module or an optimizer"):
        why(wrong)


def test_a_loss_that_is_no_tensor_is_refused(T):
    with pytest.raises(TypeError, match=r"why\(x, loss\)"):
        why(T.ones(1), 3.0)


def test_torch_and_gradlab_do_not_mix():
    with pytest.raises(TypeError, match="mixed"):
        why(torch.ones(1, requires_grad=True), gradlab.ones(1, requires_grad=True).sum())


def test_a_module_without_parameters_is_refused():
    with pytest.raises(ValueError, match="no parameters"):
        why(torch.nn.ReLU())


def test_looking_changes_nothing(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    loss = y.sum()
    calls = []
    y.register_hook(lambda g: calls.append(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for asked in (x, y, loss):
            why(asked, loss)
            why(asked)
    assert x.grad is None and not y.retains_grad and calls == []
    loss.backward()  # nothing was freed, no hook was added or lost
    assert x.grad.tolist() == [2.0, 4.0] and calls == [1]


def test_looking_keeps_nothing_alive(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    loss = y.sum()
    found = why(y, loss)
    gone = [weakref.ref(y), weakref.ref(loss)]
    del y, loss
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    assert found.cause == "non-leaf"


def test_a_checkpointed_forward_is_not_run_again():
    from torch.utils.checkpoint import checkpoint

    runs = []

    def block(t):
        runs.append(1)
        return t.exp()

    x = torch.ones(2, requires_grad=True)
    loss = checkpoint(block, x, use_reentrant=False).sum()
    assert why(x, loss).cause == "no-backward-yet"
    assert runs == [1]


def test_a_long_chain(T):
    x = T.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(3000):
        y = y * 1.0
    assert why(x, y).cause == "no-backward-yet"


def test_a_sparse_gradient():
    table = torch.nn.Embedding(5, 2, sparse=True)
    loss = table(torch.tensor([1, 3])).sum()
    loss.backward()
    assert why(table.weight, loss).cause == "has-grad"


def test_a_complex_gradient():
    z = torch.tensor([1 + 2j], requires_grad=True)
    loss = (z * z.conj()).real.sum()
    loss.backward()
    assert why(z, loss).cause == "has-grad"


def test_an_empty_gradient_is_not_called_zero(T):
    x = T.ones(0, requires_grad=True)
    x.sum().backward()
    assert why(x).cause == "has-grad"


def test_html_and_text_hold_the_answer_and_escape_it(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    bundle = why(y, y.sum())._repr_mimebundle_()
    assert "non-leaf" in bundle["text/plain"] and "retain_grad" in bundle["text/plain"]
    assert "non-leaf" in bundle["text/html"] and "<svg" not in bundle["text/html"]  # as an image, also untrusted
    assert "<svg " in urllib.parse.unquote(re.findall(r'src="data:image/svg\+xml,([^"]*)"', bundle["text/html"])[0])
    assert "<script" not in Diagnosis("unknown", "`<script>`", name="<script>").html()


def test_the_picture_marks_the_break(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    b = T.tensor([1.0, 2.0], requires_grad=True)
    loss = (b * b).sum()
    d = why(x, loss)
    assert "not reached" in d.picture().text()
    assert [mark.toward_tensor for mark in marks(d)] == d.snapshot.roots[:1]  # where on the way, the graph cannot tell
    assert why(x).picture() is None
