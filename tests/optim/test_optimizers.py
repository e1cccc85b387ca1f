"""Optimizers hold to torch's own samples (OptimizerInfo): the same parameters and state after every step."""

import numpy as np
import pytest
import torch
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

import gradlab
from tests.operators.samples import ToGradlab

OFFERED = [info for info in optim_db if hasattr(gradlab.optim, info.optim_cls.__name__)]


def train(lib, name, options, steps, dtype):
    rng = np.random.default_rng(0)
    values = [np.asarray(rng.standard_normal(shape), dtype) for shape in ((3, 4), (4,), ())]
    parameters = [lib.tensor(v, requires_grad=True) for v in values]
    optimizer = getattr(lib.optim, name)(parameters, **options)
    for _ in range(steps):
        optimizer.zero_grad()
        sum((p * p * p).sum() + p.sum() for p in parameters).backward()
        optimizer.step()
    return parameters, optimizer


def samples():
    for info in OFFERED:
        for sample in info.optim_inputs_func(device="cpu"):
            yield pytest.param(info.optim_cls.__name__, sample.kwargs, id=f"{info.optim_cls.__name__}-{sample.desc}")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("name", "options"), list(samples()))
def test_agrees_with_torch_after_five_steps(name, options, dtype):
    convert = ToGradlab()
    ours, mine = train(gradlab, name, {k: convert(v) for k, v in options.items()}, 5, dtype)
    theirs, wanted = train(torch, name, options, 5, dtype)
    for p, q in zip(ours, theirs, strict=True):
        assert p.detach().numpy().dtype == dtype
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-9 if dtype is np.float64 else 1e-5)
    assert mine.state_dict()["param_groups"][0].keys() == wanted.state_dict()["param_groups"][0].keys()
    for number, state in wanted.state_dict()["state"].items():
        assert {k for k, v in state.items() if v is not None} == mine.state_dict()["state"].get(number, {}).keys()


class Once(ToGradlab):
    """The same torch tensor becomes the same tensor every time."""

    def __init__(self):
        super().__init__()
        self.known = {}

    def __call__(self, value):
        if not isinstance(value, torch.Tensor):
            return super().__call__(value)
        if id(value) not in self.known:
            self.known[id(value)] = super().__call__(value)
        return self.known[id(value)]


def construction_errors():
    for info in OFFERED:
        for error in info.optim_error_inputs_func(device="cpu", dtype=torch.float32):
            if error.error_on is OptimizerErrorEnum.CONSTRUCTION_ERROR and error.optimizer_error_input.params is not None:
                yield pytest.param(info.optim_cls.__name__, error, id=f"{info.optim_cls.__name__}-{error.error_regex[:30]}")


@pytest.mark.parametrize(("name", "error"), list(construction_errors()))
def test_wrong_parameters_raise_torchs_error(name, error):
    convert, given = Once(), error.optimizer_error_input
    check = pytest.warns if issubclass(error.error_type, Warning) else pytest.raises
    with check(error.error_type):
        getattr(gradlab.optim, name)(convert(given.params), **{k: convert(v) for k, v in given.kwargs.items()})


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("SGD", {"lr": -1}, "Invalid learning rate"),
        ("SGD", {"momentum": -0.5}, "Invalid momentum"),
        ("SGD", {"nesterov": True}, "Nesterov momentum requires"),
        ("Adam", {"betas": (1.0, 0.0)}, "Invalid beta parameter at index 0"),
        ("AdamW", {"weight_decay": -1}, "Invalid weight_decay"),
    ],
)
def test_wrong_options_are_value_errors(name, options, message):
    for lib in (gradlab, torch):
        with pytest.raises(ValueError, match=message):
            getattr(lib.optim, name)([lib.ones(1, requires_grad=True)], **options)


@pytest.mark.parametrize("option", ["foreach", "fused", "capturable", "differentiable"])
def test_other_implementations_are_refused(option):
    with pytest.raises(NotImplementedError, match=option):
        gradlab.optim.Adam([gradlab.ones(1, requires_grad=True)], **{option: True})


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_a_state_dict_moves_both_ways_between_the_libraries(name):
    options = {"lr": 0.05, **({"momentum": 0.9} if name == "SGD" else {})}
    (ours, mine), (theirs, wanted) = (train(lib, name, options, 3, np.float64) for lib in (gradlab, torch))
    as_torch = mine.state_dict()
    as_torch["state"] = {
        n: {k: torch.from_numpy(v.numpy().copy()) for k, v in s.items()} for n, s in as_torch["state"].items()
    }
    fresh = getattr(torch.optim, name)([torch.from_numpy(p.detach().numpy().copy()).requires_grad_() for p in ours], **options)
    fresh.load_state_dict(as_torch)
    mine.load_state_dict(wanted.state_dict())
    for lib, optimizer in ((gradlab, mine), (torch, fresh), (torch, wanted)):
        for p in optimizer.param_groups[0]["params"]:
            p.grad = lib.ones_like(p.detach())
        optimizer.step()
    for a, b, c in zip(mine.param_groups[0]["params"], fresh.param_groups[0]["params"], theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), c.detach().numpy(), rtol=1e-9)
        np.testing.assert_allclose(b.detach().numpy(), c.detach().numpy(), rtol=1e-9)


def test_a_closure_is_called_with_recording_on():
    w = gradlab.tensor([1.0], requires_grad=True)
    optimizer = gradlab.optim.SGD([w], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with gradlab.no_grad():
        assert optimizer.step(closure).item() == 1.0
    assert w.item() == pytest.approx(0.8)
