"""Long graphs and Python's garbage collector: what a full collection looked through once is left out while a graph grows."""

import subprocess
import sys

import pytest

COMMON = """
import gc, weakref
import gradlab

class Thing:
    pass

def cycle():
    thing = Thing()
    thing.itself = thing
    return thing

def chain(length):
    y = gradlab.ones(1, requires_grad=True)
    for _ in range(length):
        y = y * 1.0
    return y
"""

FROZEN_WHILE_IT_GROWS = """
before = gc.get_stats()[2]["collections"]
y = chain(150_000)
assert gc.get_stats()[2]["collections"] > before and gc.get_freeze_count() > 150_000, gc.get_freeze_count()
"""

ASKING_FOR_A_COLLECTION_COLLECTS_ALL = """
thing = cycle()
alive = weakref.ref(thing)
y = chain(150_000)
assert gc.get_freeze_count() > 150_000
del thing
gc.collect()
assert alive() is None and gc.get_freeze_count() == 0
assert len(gc.get_objects()) > 150_000
"""

ALSO_WHERE_COLLECTING_IS_DISABLED = """
thing = cycle()
alive = weakref.ref(thing)
y = chain(150_000)
assert gc.get_freeze_count() > 150_000
del thing
gc.disable()
more = [[] for _ in range(10_000)]
gc.collect()
assert alive() is None and gc.get_freeze_count() == 0
"""

WHEN_IT_NO_LONGER_GROWS_ALL_TAKE_PART = """
thing = cycle()
alive = weakref.ref(thing)
y = chain(150_000)
y.backward()
del thing, y
for _ in range(3):
    kept = [[] for _ in range(600_000)]
assert gc.get_freeze_count() == 0 and alive() is None
"""

WHAT_SOMEBODY_ELSE_FROZE_STAYS = """
gc.freeze()
count = gc.get_freeze_count()
y = chain(150_000)
gc.collect()
assert 0 < gc.get_freeze_count() <= count
"""

ALSO_WHAT_SOMEBODY_FREEZES_BESIDE_THE_GRAPH = """
y = chain(150_000)
assert gc.get_freeze_count() > 150_000
gc.freeze()
count = gc.get_freeze_count()
gc.collect()
assert gc.get_freeze_count() > count - 1000
gc.unfreeze()
y = chain(150_000)
assert gc.get_freeze_count() > 150_000
gc.collect()
assert gc.get_freeze_count() == 0
"""

SHORT_GRAPHS_CHANGE_NOTHING = """
for _ in range(300):
    chain(1000).backward()
    kept = [[] for _ in range(10_000)]
assert gc.get_freeze_count() == 0
"""

ONCE_FREED_BY_REFERENCE_COUNTS = """
gc.collect()
y = chain(150_000)
alive = weakref.ref(y.grad_fn)
del y
assert alive() is None
"""

PROGRAMS = {name: text for name, text in globals().items() if name.isupper() and name != "COMMON"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_collections_of_a_long_graph(name):
    done = subprocess.run([sys.executable, "-c", COMMON + PROGRAMS[name]], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
