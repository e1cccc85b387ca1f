"""What max(dim) and its kin return: a pair that shows itself as torch's, and is copied and pickled."""

import copy
import pickle

import pytest
import torch

import gradlab

CALLS = "max(1) min(0) median(1) kthvalue(1) sort() topk(2) cummax(0) cummin(1)".split()


@pytest.mark.parametrize("call", CALLS)
def test_shows_itself_as_in_torch(call):
    ours, theirs = [eval(f"x.{call}", {"x": lib.tensor([[3.0, 1.0], [2.0, 5.0]])}) for lib in (gradlab, torch)]
    assert repr(ours).replace("gradlab", "torch") == repr(theirs)
    assert (type(ours).__name__, len(ours), isinstance(ours, tuple)) == (type(theirs).__name__, 2, True)


@pytest.mark.parametrize("through", [copy.copy, copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))])
@pytest.mark.parametrize("call", CALLS)
def test_is_copied_and_pickled(call, through):
    pair = eval(f"x.{call}", {"x": gradlab.tensor([[3.0, 1.0], [2.0, 5.0]])})
    again = through(pair)
    assert type(again) is type(pair)
    assert (again.values.tolist(), again.indices.tolist()) == (pair.values.tolist(), pair.indices.tolist())
