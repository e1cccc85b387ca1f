"""numpy warns of 1 / 0, inf - inf and overflow; torch does not, and so neither does gradlab.

gradlab leaves numpy's settings alone and filters the warnings that numpy attributes to gradlab's own files. What numpy
computes in Python code of its own (`array.sum()`, `np.clip`) would be attributed to numpy, and shown.
"""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

import gradlab
from tests.operators.samples import ToGradlab, forms, id_of, operators, sample_inputs, tensors_in

PACKAGE = str(Path(gradlab.__file__).parent)
FEW = 4
EXTREMES = {
    "huge": lambda x: torch.where(x < 0, -3e38, 3e38),
    "tiny and huge": lambda x: x * 1e30 ** torch.linspace(-1, 1, x.numel()).reshape(x.shape),
    "zero": torch.zeros_like,
    "infinite": lambda x: torch.where(x < 0, -torch.inf, torch.inf),
    "nan": lambda x: torch.full_like(x, torch.nan),
}


def extreme(value, change):
    if isinstance(value, torch.Tensor) and value.dtype is torch.float32:
        return change(value.detach()).requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(extreme(v, change) for v in value)
    return {k: extreme(v, change) for k, v in value.items()} if isinstance(value, dict) else value


def shown(function, args, named):
    """The numpy warnings of one call and its backward that the filter of gradlab would let through."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            roots = [t for t in tensors_in(gradlab, function(*args, **named)) if t.requires_grad]
            gradlab.autograd.backward(roots, [gradlab.ones_like(t) for t in roots])
        except (RuntimeError, ValueError, IndexError):  # a refusal: of probabilities outside 0 and 1, of NaN ...
            pass
    ours = [w for w in seen if issubclass(w.category, RuntimeWarning) and not w.filename.startswith((PACKAGE, "<gradlab"))]
    return [f"{w.filename}:{w.lineno}: {w.message}" for w in ours]


@pytest.mark.parametrize("kind", EXTREMES)
@pytest.mark.parametrize("op", operators(), ids=id_of)
def test_no_operator_shows_a_warning_of_numpy(op, kind):
    _, _, ours = next(forms(op))
    for sample in sample_inputs(op, torch.float32, FEW):
        given = extreme([sample.input, *sample.args], EXTREMES[kind]), extreme(sample.kwargs, EXTREMES[kind])
        args, named = map(ToGradlab(), given)
        assert shown(ours, args, named) == []


@pytest.mark.parametrize("program", "x.sum() x.mean() x.var() x.prod() x.cumsum(0) x.norm(3) x/0 x.exp() (-x).log()".split())
def test_the_filter_holds_even_where_warnings_are_errors(program):
    code = f"import gradlab; x = gradlab.tensor([3e38, 3e38], requires_grad=True); ({program}).sum().backward()"
    done = subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
