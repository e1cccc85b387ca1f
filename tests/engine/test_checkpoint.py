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


@beside_torch
def test_arguments_that_were_changed_in_place_are_noticed(lib):
    module = import_module(lib.__name__ + ".utils.checkpoint")

    def leaf(x, y):
        with lib.no_grad():
            x.add_(1)

    changes = [lambda x, y: None, leaf, lambda x, y: y.mul_(2), lambda x, y: x.data.add_(1)]
    for reentrant in (True, False):
        for change in changes:
            x, y = lib.tensor([1.0, 2.0], requires_grad=True), lib.tensor([3.0, 4.0])
            result = module.checkpoint(lambda a, b: a * a * b, x, y, use_reentrant=reentrant)
            change(x, y)
            yield attempt(result.sum().backward), x.grad
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        h = x * 1
        result = module.checkpoint(lambda a: a * a * a, h, use_reentrant=reentrant)
        h.add_(1)
        yield attempt(result.sum().backward), x.grad


@beside_torch
def test_a_second_backward_needs_the_graph_retained(lib):
    module = import_module(lib.__name__ + ".utils.checkpoint")
    for reentrant in (True, False):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        loss = module.checkpoint(lambda a: a * a, x, use_reentrant=reentrant).sum()
        loss.backward(retain_graph=True)
        yield attempt(loss.backward), attempt(loss.backward), x.grad


@beside_torch
def test_outer_hooks_see_the_arguments_only(lib):
    module, packed = import_module(lib.__name__ + ".utils.checkpoint"), []
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    with lib.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.tolist()) or t, lambda t: t):
        result = module.checkpoint(lambda a: a * a * a, x, use_reentrant=False)
    result.sum().backward()
    yield packed, x.grad


@beside_torch
def test_the_second_run_ends_early(lib):
    module = import_module(lib.__name__ + ".utils.checkpoint")
    for early in (True, False):
        seen = []

        def function(a, seen=seen):
            out = a * a
            seen.append("computed")
            return out + 1

        x = lib.tensor([1.0], requires_grad=True)
        module.checkpoint(function, x, use_reentrant=False, early_stop=early).backward()
        yield seen, x.grad


@beside_torch
def test_arguments_of_other_kinds_and_results_in_lists(lib):
    module = import_module(lib.__name__ + ".utils.checkpoint")
    for reentrant in (True, False):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        inside = lib.tensor([5.0, 6.0])

        def function(a, number, several, nothing, inside=inside):
            return a * number + several[0], isinstance(several, tuple), nothing

        found = module.checkpoint(function, x, 3, (inside,), None, use_reentrant=reentrant)
        found[0].sum().backward()
        yield found, x.grad
        yield module.checkpoint(lambda a: [a * 1], x, use_reentrant=reentrant)
