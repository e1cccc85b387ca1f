"""A checkpointed function that does something else the second time is found out, as in torch."""

from importlib import import_module

import pytest

import gradlab
from gradlab.utils.checkpoint import checkpoint
from tests.engine.beside import attempt, beside_torch


@beside_torch
def test_a_second_run_that_differs_is_an_error(lib):
    module = import_module(lib.__name__ + ".utils.checkpoint")
    for first, second in (
        (lambda t: (t * t).sum(), lambda t: (t[:1] * t[:1]).sum()),
        (lambda t: t.exp().exp().sum(), lambda t: t.exp().sum()),
        (lambda t: (t * t).sum(), lambda t: (t.double() * t.double()).sum()),
        (lambda t: (t * t).sum(), lambda t: (t * t).sum()),
    ):
        runs = []

        def function(t, first=first, second=second, runs=runs):
            runs.append(1)
            return first(t) if len(runs) == 1 else second(t)

        x = lib.ones(2, requires_grad=True)
        try:
            module.checkpoint(function, x, use_reentrant=False).backward()
            yield x.grad
        except module.CheckpointError as error:
            yield isinstance(error, RuntimeError), "metadata" in str(error), "number of tensors" in str(error)


@beside_torch
def test_the_comparison_can_be_turned_off(lib):
    module = import_module(lib.__name__ + ".utils.checkpoint")
    for check in ("default", "none", "other", None):
        for reentrant in (True, False):
            runs = []

            def function(t, runs=runs):
                runs.append(1)
                return (t * t).sum() if len(runs) == 1 else (t.double() * t.double()).sum().to(lib.float32)

            x = lib.ones(2, requires_grad=True)

            def run(x=x, function=function, check=check, reentrant=reentrant):
                module.checkpoint(
                    function, x, use_reentrant=reentrant, determinism_check=check, early_stop=True
                ).backward()

            yield attempt(run), x.grad


def test_what_torchs_checkpoint_can_do_besides_is_refused():
    x = gradlab.ones(2, requires_grad=True)
    for options in ({"debug": True}, {"context_fn": lambda: (None, None)}):
        with pytest.raises(NotImplementedError, match=next(iter(options))):
            checkpoint(gradlab.exp, x, use_reentrant=False, **options)
