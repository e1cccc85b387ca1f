"""A checkpointed function that does something else the second time is found out, as in torch."""

from importlib import import_module

from tests.engine.beside import beside_torch


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
