"""Memory: what Python's garbage collector and malloc are told, because graphs are many objects and arrays come and go.

**The collector** begins a full collection when what outlived the younger ones has come to a quarter of the old, whether it
still lives or not, and looks through all living objects. Graphs are many objects that live and die by their reference counts: a
loop that makes and frees one of 10,000 nodes would have all that was ever imported looked through each time, and a graph of a
million would be looked through again at each quarter more. So while operations are recorded

- one full collection in ten takes place, the others are passed over, and
- what survived one while a graph grew is kept out of the next (`gc.freeze`) until it no longer grows.

Younger collections run as ever, and in one that somebody asks for (`gc.collect()`) everything takes part.

**malloc** keeps what was freed, so that a loop's arrays get the same memory at each turn and not new pages from the system.
glibc takes a chunk from its heap when it is smaller than a threshold, and gives the end of the heap back when more than twice
that is free there; the threshold grows with the chunks that are freed, up to 32 MiB (`man mallopt`, M_MMAP_THRESHOLD).
Programs that go element by element over arrays of some hundred KB take half the time once it has grown.
"""

import gc
import sys

import numpy as np

from gradlab.engine.node import numbers

MANY = 1_000  # nodes recorded between two full collections: with fewer, Python's own rule holds
PASSED = 9  # in a row


class Keeper:
    """Told of every collection; what it needs to know of the last full one."""

    def __init__(self) -> None:
        self.nodes = self.recorded = 0  # all that were recorded until then, and those since that count
        self.blocks = sys.getallocatedblocks()  # pieces of memory in use
        self.passed = 0  # collections in a row
        self.frozen = 0  # how many objects were frozen here, about: counting them takes as long as there are many

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] == 2:
            self._before() if phase == "start" else self._after()

    def _before(self) -> None:
        asked = not gc.isenabled() or gc.get_count()[0] <= gc.get_threshold()[0]  # not its own time: gc.collect()
        if asked:
            self._thaw()
        others = not self.frozen and gc.get_freeze_count() > 0  # what somebody froze would be unfrozen with ours
        self.recorded = 0 if asked or others else _nodes() - self.nodes
        self.passed = 0 if self.frozen or self.recorded <= MANY else (self.passed + 1) % (PASSED + 1)
        if self.passed:
            gc.freeze()  # leaves nothing to look through

    def _after(self) -> None:
        """Freeze what survived if a graph grew: each node comes with several pieces of memory."""
        if self.passed:
            gc.unfreeze()
            return
        before, self.blocks, self.nodes = self.blocks, sys.getallocatedblocks(), _nodes()
        grown = self.blocks - before
        if MANY < self.recorded < grown:
            self.frozen += len(gc.get_objects(2))
            gc.freeze()
        else:
            self._thaw()

    def _thaw(self) -> None:
        if self.frozen:
            if gc.get_freeze_count() <= self.frozen + MANY:  # else somebody froze more since: that stays, and so does this
                gc.unfreeze()
            self.frozen = 0


def _nodes() -> int:
    """How many were ever recorded: the next one's number."""
    return int(repr(numbers)[6:-1])


def watch() -> None:
    """Begin to look at collections, once."""
    if not any(isinstance(callback, Keeper) for callback in gc.callbacks):
        gc.callbacks.append(Keeper())


def keep_freed() -> None:
    """Free one large chunk that nothing was written to: it costs address space for a moment, and no memory."""
    np.empty(31 << 20, np.uint8)
