"""Graphs and Python's garbage collector: nine full collections in ten are passed over while operations are recorded, and what
one looked through is left out of the next while a graph grows."""

import subprocess
import sys

import pytest

COMMON = """
import gc, weakref
import gradlab

LONG = 200_000

class Thing:
    pass

def cycle():
    thing = Thing()
    thing.itself = thing
    return thing

looked = []  # how many objects each full collection looked through

def note(phase, info):
    if info["generation"] == 2 and phase == "start":
        looked.append(len(gc.get_objects()))

gc.callbacks.append(note)

def chain(length):
    y = gradlab.ones(1, requires_grad=True)
    for _ in range(length):
        y = y * 1.0
    return y
"""

FROZEN_WHILE_IT_GROWS = """
before = gc.get_stats()[2]["collections"]
y = chain(LONG)
assert gc.get_stats()[2]["collections"] > before and gc.get_freeze_count() > LONG, gc.get_freeze_count()
"""

ASKING_FOR_A_COLLECTION_COLLECTS_ALL = """
thing = cycle()
alive = weakref.ref(thing)
y = chain(LONG)
assert gc.get_freeze_count() > LONG
del thing
gc.collect()
assert alive() is None and gc.get_freeze_count() == 0
assert len(gc.get_objects()) > LONG
"""

ALSO_WHERE_COLLECTING_IS_DISABLED = """
thing = cycle()
alive = weakref.ref(thing)
y = chain(LONG)
assert gc.get_freeze_count() > LONG
del thing
gc.disable()
more = [[] for _ in range(10_000)]
gc.collect()
assert alive() is None and gc.get_freeze_count() == 0
"""

WHEN_IT_NO_LONGER_GROWS_ALL_TAKE_PART = """
thing = cycle()
alive = weakref.ref(thing)
y = chain(LONG)
y.backward()
del thing, y
for _ in range(3):
    kept = [[] for _ in range(600_000)]
assert gc.get_freeze_count() == 0 and alive() is None
"""

ONE_COLLECTION_IN_TEN_WHILE_GRAPHS_COME_AND_GO = """
for _ in range(40):
    chain(5000).backward()
    kept = [[] for _ in range(20_000)]
whole = [n for n in looked if n > 20_000]
assert len(looked) >= 10 and 1 <= len(whole) <= len(looked) / 8, looked
"""

WHICH_STILL_FINDS_CYCLES = """
thing = cycle()
alive = weakref.ref(thing)
del thing
gc.collect(1)  # into the oldest generation
for _ in range(40):
    chain(5000).backward()
    kept = [[] for _ in range(20_000)]
assert alive() is None
"""

WITHOUT_OPERATIONS_ALL_COLLECTIONS_TAKE_PLACE = """
looked.clear()
for _ in range(3):
    kept = [[] for _ in range(600_000)]
assert len(looked) > 3 and min(looked) > 20_000, looked
"""

WHAT_SOMEBODY_ELSE_FROZE_STAYS = """
gc.freeze()
count = gc.get_freeze_count()
y = chain(LONG)
gc.collect()
assert 0 < gc.get_freeze_count() <= count
"""

ALSO_WHAT_SOMEBODY_FREEZES_BESIDE_THE_GRAPH = """
y = chain(LONG)
assert gc.get_freeze_count() > LONG
gc.freeze()
count = gc.get_freeze_count()
gc.collect()
assert gc.get_freeze_count() > count - 1000
gc.unfreeze()
y = chain(LONG)
assert gc.get_freeze_count() > LONG
gc.collect()
assert gc.get_freeze_count() == 0
"""

NOTHING_STAYS_FROZEN_BETWEEN_SHORT_GRAPHS = """
for _ in range(300):
    chain(1000).backward()
    kept = [[] for _ in range(10_000)]
    assert gc.get_freeze_count() == 0
"""

ONCE_FREED_BY_REFERENCE_COUNTS = """
gc.collect()
y = chain(LONG)
alive = weakref.ref(y.grad_fn)
del y
assert alive() is None
"""

PROGRAMS = {name: text for name, text in globals().items() if name.isupper() and name != "COMMON"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_collections_of_a_long_graph(name):
    done = subprocess.run([sys.executable, "-c", COMMON + PROGRAMS[name]], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
