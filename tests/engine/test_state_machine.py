"""Random programs in gradlab and in torch, step by step: the same values, gradients, versions, errors and graphs after each.

The model is torch itself. Each fault that this machine found has a test of its kind under a name of its own in this folder.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule, run_state_machine_as_test

import gradlab

LIBRARIES = (gradlab, torch)
SHAPES = [(), (3,), (1, 3), (2, 3), (2, 1)]
UNARY = ["exp", "tanh", "sin", "relu", "neg", "abs", "sigmoid", "square", "clone", "cos", "sqrt"]
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum"]
IN_PLACE = ["tanh_", "exp_", "neg_", "zero_", "relu_", "sin_"]
IN_PLACE_BINARY = ["add_", "sub_", "mul_", "copy_"]
VIEWS = {
    "first": lambda x: x[0],
    "rest": lambda x: x[1:],
    "last column": lambda x: x[..., -1:],
    "every other": lambda x: x[::2],
    "transpose": lambda x: x.transpose(0, -1),
    "flatten": lambda x: x.view(-1),
    "column": lambda x: x.unsqueeze(-1),
    "stretch": lambda x: x.expand(2, *x.shape),
    "squeeze": lambda x: x.squeeze(),
    "diagonal": lambda x: x.diagonal(),
    "narrow": lambda x: x.narrow(-1, 0, 1),
}
REDUCTIONS = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "sum of rows": lambda x: x.sum(0),
    "keep": lambda x: x.sum(-1, keepdim=True),
    "max": lambda x: x.max(),
    "largest": lambda x: x.max(0)[0],
}


@dataclass
class Pair:
    """The same tensor in both libraries."""

    ours: Any
    theirs: Any
    seen: tuple[list, list] = field(default_factory=lambda: ([], []))

    def __iter__(self):
        return iter((self.ours, self.theirs))


def attempt(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args), None
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            return None, error


def array(x):
    return None if x is None else np.array(x.detach().numpy())


def graph(root, limit=40):
    """Names of the nodes above a node, with how they are joined, breadth first."""
    index, rows, queue = {}, [], [root]
    while queue and len(index) < limit:
        node = queue.pop(0)
        if node is None or node in index:
            continue
        index[node] = len(index)
        rows.append((node.name().split("::")[-1], [(n is None, k) for n, k in node.next_functions]))
        queue += [n for n, _ in node.next_functions]
    return rows


def overlap_unseen(written, read):
    """Whether torch writes into what it still reads, without refusing: the result then depends on its order of writing."""
    a, b = (x.detach().numpy() for x in (written, read))
    same = (a.ctypes.data, a.shape, a.strides) == (b.ctypes.data, b.shape, b.strides)
    return np.shares_memory(a, b) and not same and not (a.flags.forc and b.flags.forc)


STEPS = {"count": 0}


class Programs(RuleBasedStateMachine):
    """Both libraries run the same program; `both` compares how each step ends."""

    tensors = Bundle("tensors")

    def __init__(self):
        super().__init__()
        self.pairs: list[Pair] = []
        self.handles: list = []
        self.graphs_agree = True  # the graph of a derivative may be composed of other nodes than torch's
        gradlab.set_grad_enabled(True)
        torch.set_grad_enabled(True)

    def both(self, step, *pairs, keep=True):
        """Run one step on each side. Both succeed or both fail with the same type of exception."""
        STEPS["count"] += 1
        ours, wrong = attempt(step, gradlab, *[p.ours for p in pairs])
        theirs, expected = attempt(step, torch, *[p.theirs for p in pairs])
        assert (wrong is None) == (expected is None), f"gradlab: {wrong!r}; torch: {expected!r}"
        if wrong is not None:
            left_behind = any(attempt(getattr, p.theirs, "grad_fn")[1] for p in pairs)  # so there may be two faults at once
            assert left_behind or isinstance(wrong, type(expected)), f"gradlab: {wrong!r}; torch: {expected!r}"
            return multiple()
        if not keep or theirs is None:
            return multiple()
        pair = Pair(ours, theirs)
        self.pairs.append(pair)
        self.compare(pair)
        return pair

    # -- making tensors --------------------------------------------------------------------------------------------------

    @rule(target=tensors, shape=st.sampled_from(SHAPES), seed=st.integers(0, 5), leaf=st.booleans())
    def new(self, shape, seed, leaf):
        values = np.random.default_rng(seed).uniform(0.2, 1.5, shape)
        return self.both(lambda lib: lib.tensor(values.tolist(), dtype=lib.float64, requires_grad=leaf))

    @rule(target=tensors, x=tensors, name=st.sampled_from(UNARY), no_grad=st.booleans())
    def unary(self, x, name, no_grad):
        def step(lib, x):
            with lib.set_grad_enabled(not no_grad):
                return getattr(x, name)()

        return self.both(step, x)

    @rule(target=tensors, a=tensors, b=tensors, name=st.sampled_from(BINARY))
    def binary(self, a, b, name):
        return self.both(lambda lib, a, b: getattr(lib, name)(a, b), a, b)

    @rule(target=tensors, x=tensors, name=st.sampled_from(sorted(REDUCTIONS)))
    def reduce(self, x, name):
        return self.both(lambda lib, x: REDUCTIONS[name](x), x)

    @rule(target=tensors, x=tensors, name=st.sampled_from(sorted(VIEWS)), no_grad=st.sampled_from([False, False, True]))
    def view(self, x, name, no_grad):
        def step(lib, x):
            with lib.set_grad_enabled(not no_grad):
                return VIEWS[name](x)

        return self.both(step, x)

    @rule(target=tensors, x=tensors, number=st.sampled_from([2, 0.5, -1.0]))
    def scaled(self, x, number):
        return self.both(lambda lib, x: number - x * number, x)

    @rule(target=tensors, x=tensors)
    def detach(self, x):
        return self.both(lambda lib, x: x.detach(), x)

    @rule(target=tensors, x=tensors)
    def data(self, x):
        return self.both(lambda lib, x: x.data, x)

    @rule(target=tensors, a=tensors, b=tensors)
    def stack(self, a, b):
        return self.both(lambda lib, a, b: lib.stack([a, b, a]), a, b)

    # -- changing tensors ------------------------------------------------------------------------------------------------

    @rule(x=tensors, name=st.sampled_from(IN_PLACE), no_grad=st.booleans())
    def in_place(self, x, name, no_grad):
        def step(lib, x):
            with lib.set_grad_enabled(not no_grad):
                getattr(x, name)()

        self.both(step, x)

    @rule(a=tensors, b=tensors, name=st.sampled_from(IN_PLACE_BINARY))
    def in_place_binary(self, a, b, name):
        if not overlap_unseen(a.theirs, b.theirs):
            self.both(lambda lib, a, b: getattr(a, name)(b), a, b, keep=False)

    @rule(a=tensors, b=tensors)
    def set_item(self, a, b):
        def step(lib, a, b):
            a[0] = b

        target = a.theirs.detach()[:1].squeeze(0) if a.theirs.ndim else a.theirs
        if not overlap_unseen(target, b.theirs):
            self.both(step, a, b)

    @rule(x=tensors)
    def set_item_number(self, x):
        def step(lib, x):
            x[..., 0] = 0.5

        self.both(step, x)

    @rule(x=tensors, wanted=st.booleans())
    def requires_grad_(self, x, wanted):
        self.both(lambda lib, x: x.requires_grad_(wanted), x, keep=False)

    @rule(x=tensors)
    def detach_(self, x):
        if attempt(getattr, x.theirs, "grad_fn")[0] is None:  # else torch may refuse a backward: see lessons/differences.md
            self.both(lambda lib, x: x.detach_(), x, keep=False)

    @rule(a=tensors, b=tensors)
    def set_data(self, a, b):
        viewed = any(pair.theirs._base is a.theirs for pair in self.pairs)
        placed_alike = a.theirs.stride() == b.theirs.detach().clone().stride()  # else see lessons/differences.md
        if a.theirs.shape == b.theirs.shape and a.theirs._base is None and (placed_alike or not viewed):

            def step(lib, a, b):
                a.data = b.data.clone()

            self.both(step, a, b)

    # -- gradients -------------------------------------------------------------------------------------------------------

    @rule(x=tensors)
    def retain_grad(self, x):
        self.both(lambda lib, x: x.retain_grad(), x)

    @rule(x=tensors, factor=st.sampled_from([None, 2.0]))
    def hook(self, x, factor):
        if attempt(getattr, x.theirs, "grad_fn")[1] and x.theirs._backward_hooks is not None:
            return  # torch takes a second hook after refusing the first, and never calls it: see lessons/differences.md

        def register(tensor, seen):
            def hook(g):
                seen.append(array(g))
                return None if factor is None else g * factor

            return tensor.register_hook(hook)

        outcomes = [attempt(register, tensor, seen) for tensor, seen in zip(x, x.seen, strict=True)]
        assert (outcomes[0][1] is None) == (outcomes[1][1] is None), outcomes
        if outcomes[0][1] is None:
            self.handles.append([handle for handle, _ in outcomes])

    @rule(which=st.integers(0, 5))
    def remove_hook(self, which):
        if which < len(self.handles):
            for handle in self.handles.pop(which):
                handle.remove()

    @rule(x=tensors, retain=st.booleans(), create=st.sampled_from([False, False, True]))
    def backward(self, x, retain, create):
        self.graphs_agree &= not create

        def step(lib, x):
            x.backward(lib.ones_like(x).detach(), retain_graph=retain or create, create_graph=create)

        self.both(step, x)

    @rule(x=tensors, leaf=tensors, retain=st.booleans())
    def backward_inputs(self, x, leaf, retain):
        def step(lib, x, leaf):
            x.backward(lib.ones_like(x).detach(), retain_graph=retain, inputs=[leaf])

        self.both(step, x, leaf)

    @rule(target=tensors, y=tensors, x=tensors, create=st.booleans())
    def grad(self, y, x, create):
        self.graphs_agree &= not create

        def step(lib, y, x):
            found = lib.autograd.grad(y.sum(), x, create_graph=create, retain_graph=True, allow_unused=True)[0]
            return None if found is None else found.clone()

        return self.both(step, y, x)

    @rule(x=tensors)
    def forget_grad(self, x):
        def step(lib, x):
            x.grad = None

        self.both(step, x)

    # -- what must agree -------------------------------------------------------------------------------------------------

    def compare(self, pair):
        ours, theirs = pair
        names = ("requires_grad", "is_leaf", "grad_fn")
        found = [[attempt(getattr, tensor, name) for name in names] for tensor in pair]
        assert [e is None for _, e in found[0]] == [e is None for _, e in found[1]], found
        if any(e for _, e in found[1]):
            return  # a view that its base's history has left behind
        np.testing.assert_allclose(array(ours), array(theirs), rtol=1e-9, atol=1e-12, equal_nan=True)
        for name in ("requires_grad", "is_leaf", "_version", "retains_grad", "output_nr"):
            assert getattr(ours, name) == getattr(theirs, name), name
        assert tuple(ours.shape) == tuple(theirs.shape)
        if theirs.grad_fn is not None and self.graphs_agree:
            assert graph(ours.grad_fn) == graph(theirs.grad_fn)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            grads = ours.grad, theirs.grad
        assert (grads[0] is None) == (grads[1] is None), grads
        if grads[1] is not None:
            np.testing.assert_allclose(array(grads[0]), array(grads[1]), rtol=1e-9, atol=1e-12, equal_nan=True)
            assert grads[0].requires_grad == grads[1].requires_grad
        assert len(pair.seen[0]) == len(pair.seen[1])
        for a, b in zip(*pair.seen, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)

    @invariant()
    def the_same_everywhere(self):
        for pair in self.pairs:
            self.compare(pair)


def run(examples, steps):
    run_state_machine_as_test(
        Programs,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )


def test_random_programs_agree_with_torch_at_every_step():
    STEPS["count"] = 0
    run(examples=180, steps=50)
    assert STEPS["count"] >= 2000


@pytest.mark.long
def test_many_longer_random_programs_agree_with_torch_at_every_step(long_slice):
    """--long=short runs some 20,000 steps, --long=full a million."""
    STEPS["count"] = 0
    run(examples=int(20_000 * long_slice), steps=80)
    assert STEPS["count"] >= 500_000 * long_slice
