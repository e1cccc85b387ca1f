"""Module hooks: the same calls in the same order with the same values as in torch."""

import pytest
import torch

import gradlab

LIBS = [gradlab, torch]


def calls(lib):
    """What every kind of hook sees in one forward and backward of a small network."""
    seen = []
    net = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Tanh())
    with lib.no_grad():
        for p in net.parameters():
            p.fill_(0.5)
    net.register_forward_pre_hook(lambda m, args: seen.append(("pre", args[0].tolist())))
    net.register_forward_hook(lambda m, args, out: seen.append(("forward", [round(v, 5) for v in out.flatten().tolist()])))
    net[0].register_full_backward_pre_hook(
        lambda m, g: seen.append(("backward pre", [round(v, 5) for v in g[0].flatten().tolist()]))
    )
    net[0].register_full_backward_hook(
        lambda m, into, out: seen.append(("backward", [round(v, 5) for v in into[0].flatten().tolist()]))
    )
    x = lib.tensor([[1.0, 2.0]], requires_grad=True)
    net(x).sum().backward()
    return seen, [round(v, 5) for v in x.grad.flatten().tolist()]


def test_hooks_see_what_torchs_see():
    assert calls(gradlab) == calls(torch)


@pytest.mark.parametrize("lib", LIBS, ids=["gradlab", "torch"])
def test_a_backward_hook_may_replace_the_input_gradient(lib):
    layer = lib.nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda m, into, out: (into[0] * 0,))
    x = lib.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("lib", LIBS, ids=["gradlab", "torch"])
def test_a_removed_hook_is_gone(lib):
    layer, seen = lib.nn.ReLU(), []
    handle = layer.register_forward_hook(lambda *args: seen.append(1))
    layer(lib.ones(1))
    handle.remove()
    layer(lib.ones(1))
    assert seen == [1]


@pytest.mark.parametrize("lib", LIBS, ids=["gradlab", "torch"])
def test_assigning_something_else_to_a_parameter_is_an_error(lib):
    layer = lib.nn.Linear(2, 2)
    with pytest.raises(TypeError, match="cannot assign"):
        layer.weight = lib.ones(2, 2)


@pytest.mark.parametrize("lib", LIBS, ids=["gradlab", "torch"])
def test_loading_a_state_dict_names_what_does_not_fit(lib):
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        lib.nn.Linear(2, 2).load_state_dict(lib.nn.Linear(3, 2).state_dict())
    with pytest.raises(RuntimeError, match=r"Missing key\(s\)"):
        lib.nn.Linear(2, 2).load_state_dict({})
