"""Graphs as plain data: the records, and the readers that fill them from gradlab's and torch's tensors."""

from gradlab.graphs.reading import snapshot
from gradlab.graphs.recording import record
from gradlab.graphs.records import Edge, Event, Log, NodeRecord, Recording, Slot, Snapshot, Step, TensorRecord, Values

__all__ = [
    "Edge",
    "Event",
    "Log",
    "NodeRecord",
    "Recording",
    "Slot",
    "Snapshot",
    "Step",
    "TensorRecord",
    "Values",
    "record",
    "snapshot",
]
