"""A list, a number, an array, None or another library's tensor where a tensor is wanted: TypeError wherever torch says so."""

import numpy as np
import pytest
import torch

import gradlab
from tests.nn.test_modules import OFFERED, both, samples
from tests.operators.samples import ToGradlab, ToTorch, forms, operators, sample_inputs

ATTRIBUTES = (AttributeError, TypeError)  # where torch's Python looks for an attribute in vain, gradlab says TypeError
UNBOUND = set(
    "__getitem__ contiguous double expand expand_as float repeat reshape_as to unfold view view_as zero_".split()
)


def wrong_values(lib):
    stranger = gradlab if lib is torch else torch
    array = np.ones((2, 2), np.float32)
    return {"list": [1.0], "tuple": (1.0,), "float": 3.0, "bool": True, "None": None, "str": "a", "array": array} | {
        "a tensor of another library": stranger.ones(2, 2)
    }


def raised(call):
    try:
        call()
    except Exception as error:
        return type(error)
    return None


def agree(what, wanted, got):
    """Whether an outcome is torch's; that a stranger is taken where its attributes serve is left open."""
    if wanted is None or not issubclass(wanted, ATTRIBUTES):
        return "another" in what or wanted is got or bool(wanted and got and issubclass(got, wanted))
    return got is not None and issubclass(got, ATTRIBUTES if wanted is AttributeError else TypeError)


def disagreements(calls):
    """calls(lib, value) -> name of a place -> a call with the value there."""
    for what, value in wrong_values(torch).items():
        ours = calls(gradlab, wrong_values(gradlab)[what])
        for place, call in calls(torch, value).items():
            wanted, got = raised(call), raised(ours[place])
            if not agree(what, wanted, got):
                yield f"{what} for {place}: torch {wanted}, gradlab {got}"


def replaced(function, args, options, value):
    """One call for each tensor among the arguments, with the value in its place."""
    is_tensor = lambda x: isinstance(x, (torch.Tensor, gradlab.Tensor))  # noqa: E731
    calls = {}
    for place in [i for i, x in enumerate(args) if is_tensor(x)]:
        changed = [*args[:place], value, *args[place + 1 :]]
        calls[place] = lambda changed=changed: function(*changed, **options)
    for name in [name for name, x in options.items() if is_tensor(x)]:
        changed = options | {name: value}
        calls[name] = lambda changed=changed: function(*args, **changed)
    return calls


@pytest.mark.parametrize("op", [op for op in operators() if not op.name.startswith("__r")], ids=lambda op: op.name)
def test_functions_and_methods(op):
    """On the first of torch's own samples, whatever stands where a tensor stood; not the reflected operators, called by hand."""
    for sample in sample_inputs(op, torch.float32, 2):
        if "reduce" in sample.kwargs:
            continue
        for form, theirs, ours in forms(op):

            def calls(lib, value, theirs=theirs, ours=ours, form=form, sample=sample):
                convert = ToTorch() if lib is torch else ToGradlab()
                args = [convert(sample.input), *map(convert, sample.args)]
                options = {k: convert(v) for k, v in sample.kwargs.items()}
                found = replaced(theirs if lib is torch else ours, args, options, value)
                if form != "function" or op.name in UNBOUND:  # a method is found through its tensor
                    found.pop(0, None)
                return found

            assert list(disagreements(calls)) == [], form


def functional(lib):
    """A good call of every function of nn.functional."""
    one, index = lib.ones, lib.zeros(2, dtype=lib.int64)
    x, line, plane = one(2, 2), one(1, 1, 4), one(1, 1, 4, 4)
    elementwise = (
        "dropout elu gelu hardtanh leaky_relu logsigmoid normalize relu relu6 relu_ sigmoid silu softplus softsign tanh"
    )
    losses = "huber_loss kl_div l1_loss mse_loss smooth_l1_loss cosine_similarity"
    return {
        **{name: ((x,), {}) for name in elementwise.split()},
        **{name: ((x, x), {}) for name in losses.split()},
        **{name: ((plane, 2), {}) for name in ("adaptive_avg_pool2d", "avg_pool2d", "max_pool2d")},
        **{name: ((line, 2), {}) for name in ("avg_pool1d", "max_pool1d")},
        **{name: ((line, one(1, 1, 2), one(1)), {}) for name in ("conv1d", "conv_transpose1d")},
        **{name: ((plane, one(1, 1, 2, 2), one(1)), {}) for name in ("conv2d", "conv_transpose2d")},
        **{name: ((x, 1), {}) for name in ("softmax", "log_softmax")},
        "batch_norm": ((x, one(2), one(2), one(2), one(2), True), {}),
        "binary_cross_entropy": ((x / 2, x, x), {}),
        "binary_cross_entropy_with_logits": ((x, x, x), {"pos_weight": one(2)}),
        "cross_entropy": ((x, index, one(2)), {}),
        "embedding": ((index, x), {}),
        "layer_norm": ((x, (2,), one(2), one(2)), {}),
        "linear": ((x, x, one(2)), {}),
        "nll_loss": ((x, index, one(2)), {}),
        "one_hot": ((index,), {}),
        "pad": ((x, (1, 1)), {}),
    }


def test_every_function_of_nn_functional_has_a_call_here():
    assert set(functional(gradlab)) == set(gradlab.nn.functional.__all__)


@pytest.mark.parametrize("name", gradlab.nn.functional.__all__)
def test_nn_functional(name):
    def calls(lib, value):
        return replaced(getattr(lib.nn.functional, name), *functional(lib)[name], value)

    assert list(disagreements(calls)) == []


@pytest.mark.parametrize("name", ["linear", "cross_entropy", "conv2d", "layer_norm"])
def test_arguments_by_name_are_looked_at_too(name):
    function = getattr(gradlab.nn.functional, name)
    args, _ = functional(gradlab)[name]
    with pytest.raises(TypeError, match=rf"{name}\(\): argument 'weight' must be Tensor, not list"):
        function(*args[:2] if name != "linear" else args[:1], weight=[1.0])


@pytest.mark.parametrize("info", OFFERED, ids=lambda info: info.name)
def test_modules(info):
    training, sample = next((t, s) for t, s in samples(info, torch.float32) if s.forward_input.args)
    modules = dict(zip((torch, gradlab), both(info, sample, training, torch.float32), strict=True))

    def calls(lib, value):
        args = [(ToTorch() if lib is torch else ToGradlab())(x) for x in sample.forward_input.args]
        return replaced(modules[lib], args, {}, value)

    assert list(disagreements(calls)) == []


def test_the_error_says_which_argument_and_what_to_do():
    for call, said in (
        (
            lambda: gradlab.nn.functional.linear(gradlab.ones(2, 2), [[1.0]]),
            r"linear\(\): argument 'weight' \(position 2\)",
        ),
        (lambda: gradlab.nn.ReLU()(3.0), r"relu\(\): argument 'input' \(position 1\) must be Tensor, not float"),
        (
            lambda: gradlab.mm(gradlab.ones(2, 2), None),
            r"mm\(\): argument 'mat2' \(position 2\) must be Tensor, not NoneType",
        ),
        (
            lambda: gradlab.ones(2).dot(np.ones(2)),
            r"dot\(\): argument 'tensor' \(position 1\) must be Tensor, not numpy.ndarray",
        ),
        (lambda: gradlab.exp(2.0), r"exp\(\): argument 'input' \(position 1\) .* gradlab.tensor\(...\) copies"),
        (lambda: gradlab.meshgrid(gradlab.ones(2), 3.0), "expected Tensor as element 1 in argument 0, but got float"),
        (lambda: gradlab.ones(2) @ [1.0, 2.0], "unsupported operand"),
    ):
        with pytest.raises(TypeError, match=said):
            call()
