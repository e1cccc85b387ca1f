"""The autograder: submissions are probed in a sandbox and judged outside it.

`grade(bundle, submission)` grades one; `grade_all` a class, with any executor; lessons/grading.md tells the whole.
"""

import importlib

_PLACES = {
    "Bundle": "records",
    "Notebook": "records",
    "Outcome": "records",
    "Result": "records",
    "Submission": "records",
    "grade": "clerk",
    "grade_all": "executors",
    "isolation": "sandbox",
    "read_submissions": "submissions",
    "release": "formats",
}
__all__ = sorted(_PLACES)


def __getattr__(name: str) -> object:
    # Lazily: the sandbox imports this package too, and needs none of it.
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
