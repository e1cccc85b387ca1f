"""Modules hold to torch's own module samples (ModuleInfo): names, outputs, gradients, buffers, state dicts, repr."""

import numpy as np
import pytest
import torch
from torch.testing._internal.common_modules import module_db

import gradlab
from tests.operators.samples import ToGradlab, ToTorch, tensors_in

torch.set_num_threads(1)
OFFERED = [
    m
    for m in module_db
    if hasattr(gradlab.nn, m.module_cls.__name__) and m.module_cls.__module__.startswith("torch.nn.modules")
]
CLOSE = {torch.float64: {"rtol": 1e-7, "atol": 1e-8}, torch.float32: {"rtol": 2e-4, "atol": 2e-5}}


def samples(info, dtype):
    for training in (True, False):
        torch.manual_seed(0)
        given = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
        for sample in given:
            yield training, sample


def both(info, sample, training, dtype):
    """The module in torch and in gradlab, with the same parameters."""
    given, convert = sample.constructor_input, ToGradlab()
    theirs = info.module_cls(*given.args, **given.kwargs).to(dtype).train(training)
    args, options = map(convert, given.args), {k: convert(v) for k, v in given.kwargs.items()}
    ours = getattr(gradlab.nn, info.module_cls.__name__)(*args, **options)
    ours = ours.to(getattr(gradlab, str(dtype).removeprefix("torch."))).train(training)
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def run(lib, module, convert, sample):
    """Call the module and send a fixed gradient back from each output that takes one."""
    given = sample.forward_input
    outputs = tensors_in(lib, module(*map(convert, given.args), **{k: convert(v) for k, v in given.kwargs.items()}))
    for output in outputs:
        if output.requires_grad:
            g = np.random.default_rng(0).standard_normal(tuple(output.shape))
            make = torch.from_numpy if lib is torch else lib.tensor
            output.backward(make(np.asarray(g, output.detach().numpy().dtype)), retain_graph=True)
    return [t.detach().numpy() for t in outputs]


def assert_close(ours, theirs, dtype):
    assert (ours is None) == (theirs is None)
    if ours is not None:
        ours, theirs = np.asarray(ours.detach()), np.asarray(theirs.detach())
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, **CLOSE[dtype])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("info", OFFERED, ids=lambda info: info.name)
def test_agrees_with_torch_on_its_module_samples(info, dtype):
    for training, sample in samples(info, dtype):
        theirs, ours = both(info, sample, training, dtype)
        assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]
        assert repr(ours).replace("gradlab.", "") == repr(theirs).replace("torch.", "")
        if isinstance(theirs, torch.nn.Dropout) and training:
            continue  # random
        to_torch, to_gradlab = ToTorch(), ToGradlab()
        for a, b in zip(run(gradlab, ours, to_gradlab, sample), run(torch, theirs, to_torch, sample), strict=True):
            np.testing.assert_allclose(a, b, **CLOSE[dtype])
        for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert_close(p.grad, q.grad, dtype)
        for p, q in zip(to_gradlab.inputs, to_torch.inputs, strict=True):
            assert_close(p.grad, q.grad, dtype)
        for (name, p), (wanted, q) in zip(ours.named_buffers(), theirs.named_buffers(), strict=True):
            assert name == wanted
            assert_close(p, q, dtype)
        theirs.load_state_dict({k: torch.from_numpy(v.numpy().copy()) for k, v in ours.state_dict().items()})


def test_the_modules_of_the_course_are_offered():
    wanted = "Linear Conv2d BatchNorm1d BatchNorm2d LayerNorm Embedding "
    wanted += "Dropout MaxPool2d AvgPool2d Flatten ReLU GELU Tanh Sigmoid"
    wanted += " Softmax Sequential ModuleList ModuleDict ParameterList MSELoss CrossEntropyLoss BCEWithLogitsLoss"
    assert [name for name in wanted.split() if not hasattr(gradlab.nn, name)] == []


@pytest.mark.parametrize(
    "make", [lambda nn: nn.Linear(64, 300), lambda nn: nn.Conv2d(8, 40, 3), lambda nn: nn.Embedding(100, 30)]
)
def test_first_values_have_torchs_distribution(make):
    gradlab.manual_seed(0)
    torch.manual_seed(0)
    for p, q in zip(make(gradlab.nn).parameters(), make(torch.nn).parameters(), strict=True):
        ours, theirs = p.detach().numpy(), q.detach().numpy()
        assert abs(ours.mean() - theirs.mean()) < 0.15 * theirs.std()
        assert ours.std() == pytest.approx(theirs.std(), rel=0.1)
        assert np.abs(ours).max() == pytest.approx(np.abs(theirs).max(), rel=0.25)


def test_what_was_loaded_and_lists_of_parameters_show_themselves_as_in_torch():
    def shown(lib):
        layer = lib.nn.Linear(1, 1)
        found = [repr(layer.load_state_dict(layer.state_dict())), str(layer.load_state_dict({}, strict=False))]
        module = lib.nn.Module()
        module.one = lib.nn.ParameterList([lib.ones(2)])
        module.two = lib.nn.ParameterList([lib.ones(2, 3), lib.tensor(1.0)])
        module.named = lib.nn.ParameterDict({"a": lib.ones(2, 2), "b": lib.ones(1)})
        return [*found, repr(module), repr(lib.nn.ParameterDict({}))]

    assert [text.replace("gradlab.", "torch.") for text in shown(gradlab)] == shown(torch)
