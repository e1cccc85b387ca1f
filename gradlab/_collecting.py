"""Long graphs and Python's garbage collector, which would look through a growing graph again and again.

A full collection goes over all living objects each time that their number has grown by a quarter. A graph is the rare
program that makes a million objects and frees none: collections then take more time than the operations. So while a graph
grows, what survived one full collection is kept out of the next (`gc.freeze`); when it no longer grows, or whoever calls
`gc.collect()` asks for everything, all take part again. Nothing else changes: reference counts free a graph as ever.
"""

import gc

from gradlab.engine.node import numbers

MANY = 10_000  # nodes between two full collections: below, they cost little


class Keeper:
    """Told of every collection; what it needs to know of the last full one."""

    def __init__(self) -> None:
        self.frozen = 0  # how many objects were frozen here, about: counting them takes as long as there are many
        self.nodes = self.survivors = 0
        self.asked = False  # for the collection under way

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] < 2:
            return
        if phase == "stop":
            self._after()
            return
        self.asked = not gc.isenabled() or gc.get_count()[0] <= gc.get_threshold()[0]  # not its own time: gc.collect()
        if self.asked:
            self._thaw()

    def _after(self) -> None:
        """Freeze what survived if most of it is new nodes, each of which comes with an object or more."""
        nodes, survivors = int(repr(numbers)[6:-1]), len(gc.get_objects(2))
        recorded, grown = nodes - self.nodes, survivors - self.survivors
        self.nodes, self.survivors = nodes, survivors
        if not self.asked and MANY < recorded < grown and (self.frozen or not gc.get_freeze_count()):
            gc.freeze()
            self.frozen, self.survivors = self.frozen + survivors, 0
        else:
            self._thaw()

    def _thaw(self) -> None:
        if self.frozen:
            if gc.get_freeze_count() <= self.frozen + MANY:  # else somebody froze more since: that stays, and so does this
                gc.unfreeze()
            self.frozen, self.survivors = 0, len(gc.get_objects(2))


def watch() -> None:
    """Begin to look at collections, once."""
    if not any(isinstance(callback, Keeper) for callback in gc.callbacks):
        gc.callbacks.append(Keeper())
