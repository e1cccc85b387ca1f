"""Running an answer: find it, look at its kind, probe it within a time limit, judge it. A bad answer never raises."""

from __future__ import annotations

import ast
import contextlib
import copy
import linecache
import signal
import sys
import threading
import traceback
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import gradlab
from gradlab.exercises._framework import Exercise, Verdict
from gradlab.exercises._registry import get

ANSWER_FILE = "<answer>"


class TimeUpError(BaseException):
    """Raised inside an answer that runs too long; no `except Exception` of the answer catches it."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop the block after `seconds` (Unix, main thread; elsewhere the learner's stop button has to do)."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(signum: int, frame: Any) -> None:
        raise TimeUpError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)  # again and again: an answer may swallow the first one
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def usual_modes() -> Iterator[None]:
    """Run the block with gradients on and torch's own default dtype, and put back what was set before.

    A cell that switched gradients off, anywhere in the notebook, has no say in whether an answer is right.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        torch.set_default_dtype(dtype)


def same_code(one: str, other: str) -> bool:
    """True when two sources differ in layout and comments only.

    >>> same_code("x=1  # one", "x = 1")
    True
    """
    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return one.strip() == other.strip()


def is_plain(data: Any) -> bool:
    """True for plain data: None, bool, int, float, str, lists, dicts with str keys and numpy arrays of these.

    >>> is_plain({"a": [1, None]}), is_plain({1, 2})
    (True, False)
    """
    if isinstance(data, dict):
        return all(isinstance(key, str) and is_plain(value) for key, value in data.items())
    if isinstance(data, list):
        return all(is_plain(value) for value in data)
    if isinstance(data, np.ndarray):
        return data.dtype.kind in "biufc"
    return data is None or type(data) in (bool, int, float, str)


def _is_kind(value: Any, kind: str) -> bool:
    if kind == "callable":
        return callable(value)
    if kind == "dict":
        return isinstance(value, dict)
    if kind == "list":
        return isinstance(value, (list, tuple))
    if kind == "text":
        return isinstance(value, str)
    if kind == "tensor":
        return hasattr(value, "shape") and hasattr(value, "dtype")
    return isinstance(value, (int, float, complex, np.number)) and not isinstance(value, bool)


_WORDS = {
    "callable": "a function",
    "dict": "a dict",
    "list": "a list",
    "text": "text in quotes",
    "tensor": "a tensor",
    "number": "a number",
}


def _blanks(value: Any, depth: int = 0) -> list[str]:
    """The places of a dict or list that still hold `...`, also inside lists in them, as deep as a table goes."""
    places = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    return [
        str(place)
        for place, inner in places
        if inner is ... or (depth < 3 and isinstance(inner, (list, tuple)) and _blanks(inner, depth + 1))
    ]


def _unready(exercise: type[Exercise], namespace: dict[str, Any], source: str | None) -> Verdict | None:
    """The verdict on an answer that need not be run: untouched, missing, unfinished or of the wrong kind."""
    if source is not None and same_code(source, exercise.stub):
        return Verdict("not-yet", None, "This is still the cell as it was given. Change it, run it, and check again.")
    for name in exercise.names:
        if name not in namespace:
            return Verdict(
                "not-yet", None, f"There is no `{name}` yet. Run the cell above that defines it, then check again."
            )
        value = namespace[name]
        if value is ...:
            return Verdict("not-yet", None, f"`{name}` is still `...`: put your answer there.")
        blanks = _blanks(value)
        if blanks:
            return Verdict(
                "not-yet", None, f"There is still a `...` in `{name}`, at {', '.join(f'`{b}`' for b in blanks)}."
            )
        if not _is_kind(value, exercise.kind):
            kind = "None" if value is None else f"of type {type(value).__name__}"
            return Verdict("failed", None, f"`{name}` should be {_WORDS[exercise.kind]}; it is {kind}.")
    return None


def _can_be_drawn(exercise: type[Exercise], namespace: dict[str, Any], source: str | None) -> bool:
    """Whether an untouched stub is an answer that can be run, so that its picture may be shown."""
    return exercise.draws() and _is_runnable_stub(exercise, namespace, source)


def _is_runnable_stub(exercise: type[Exercise], namespace: dict[str, Any], source: str | None) -> bool:
    if source is None or not same_code(source, exercise.stub):
        return False
    values = [namespace.get(name, ...) for name in exercise.names]
    return not any(value is ... or _blanks(value) for value in values)


def _forbidden(exercise: type[Exercise], source: str | None) -> str | None:
    if source is None or not exercise.forbids:
        return None
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Name):
            names = [node.id]
        for name in names:
            if name.split(".")[0] in exercise.forbids:
                return name
    return None


_NOT_THE_LEARNERS = (str(Path(gradlab.__file__).parent), "site-packages", "dist-packages")


def describe_error(error: BaseException) -> str:
    """What happened: the exception, its first line, and the learner's line, where it was one of theirs that raised.

    >>> try:
    ...     float(None)
    ... except TypeError as error:
    ...     print(describe_error(error))
    Your answer raised `TypeError: float() argument must be a string or a real number, not 'NoneType'`
    """
    frames = traceback.extract_tb(error.__traceback__)
    words = "Your answer raised "
    if frames and all(any(folder in frame.filename for folder in _NOT_THE_LEARNERS) for frame in frames):
        words = "Your answer cannot be called as asked, or what it gives back or leaves cannot be used: "
    return words + _error_text(error, frames)


def _error_text(error: BaseException, frames: traceback.StackSummary) -> str:
    try:
        first = (str(error).strip().splitlines() or [""])[0]
    except Exception:  # an exception of the learner's own may fail to describe itself
        first = ""
    first = first if len(first) <= 220 else first[:217] + "..."
    text = f"`{type(error).__name__}: {first}`" if first else f"`{type(error).__name__}`"
    for frame in reversed(frames):
        if frame.filename == ANSWER_FILE or "ipykernel" in frame.filename or frame.filename.startswith("<ipython"):
            where = f" at line {frame.lineno}"
            line = (frame.line or linecache.getline(frame.filename, frame.lineno or 0)).strip()
            return text + where + (f": `{line}`" if line else "")
    return text


def judge_answer(
    exercise: type[Exercise], namespace: dict[str, Any], source: str | None = None, seed: int | None = None
) -> tuple[Verdict, str]:
    """Judge the answer that `namespace` holds: the verdict, and HTML that shows what the answer did ("" for none)."""
    unready = _unready(exercise, namespace, source)
    if unready is not None and not _can_be_drawn(exercise, namespace, source):
        return unready, ""
    forbidden = _forbidden(exercise, source)
    if forbidden is not None:
        return Verdict(
            "failed", None, f"This exercise is done without `{forbidden}`: that is what you are building."
        ), ""
    answer = {name: namespace[name] for name in exercise.names}
    with usual_modes():
        verdict, picture = _probe_and_judge(exercise, answer, exercise.inputs(np.random.default_rng(seed)))
    return unready or verdict, picture


def graph_of(exercise: type[Exercise], namespace: dict[str, Any], status: str, source: str | None) -> str:
    """The graph that an answer recorded which is not right yet, as HTML; "" where there is none to draw."""
    if exercise.graph is Exercise.graph or (status == "not-yet" and not _is_runnable_stub(exercise, namespace, source)):
        return ""
    try:
        with time_limit(exercise.seconds), usual_modes(), warnings.catch_warnings(action="ignore"):
            tensors = exercise.graph({name: namespace[name] for name in exercise.names})
            picture = gradlab.draw(next(iter(tensors.values())), tensors=tensors).html()
    except KeyboardInterrupt:  # the learner's stop button
        raise
    except BaseException:  # nothing was recorded, or the answer raised: the verdict says so
        return ""
    return f"<p class='gl-label'>The graph that this answer records:</p>{picture}"


def _lacks(error: ModuleNotFoundError) -> Verdict:
    return Verdict("error", None, f"This needs {error.name}, which is not installed: `pip install {error.name}`.")


def _too_long(exercise: type[Exercise]) -> Verdict:
    after = f"{exercise.seconds:g} seconds"
    return Verdict(
        "error", None, f"Your answer was still running after {after}, so it was stopped. Does a loop never end?"
    )


def _probe_and_judge(exercise: type[Exercise], answer: dict[str, Any], inputs: dict[str, Any]) -> tuple[Verdict, str]:
    try:
        with time_limit(exercise.seconds):
            seen = exercise.probe(answer, copy.deepcopy(inputs))
    except TimeUpError:
        return _too_long(exercise), ""
    except ModuleNotFoundError as error:
        return _lacks(error), ""
    except KeyboardInterrupt:  # the learner's stop button
        raise
    except BaseException as error:
        return Verdict("error", None, describe_error(error)), ""
    if not is_plain(seen):
        return Verdict(
            "failed", None, "Your answer gave back something that this check cannot read. Look at what it returns."
        ), ""
    try:
        verdict = exercise.judge(inputs, seen)
    except ModuleNotFoundError as error:
        return _lacks(error), ""
    except Exception as error:
        return Verdict(
            "failed", None, f"Your answer has a form that this check cannot compare ({type(error).__name__}: {error})."
        ), ""
    try:
        return verdict, exercise.picture(inputs, seen)
    except Exception:
        return verdict, ""


def run_source(exercise: type[Exercise], source: str) -> tuple[dict[str, Any], Verdict | None]:
    """Run answer text as a fresh module: its namespace, and a verdict where it could not be run."""
    module = sys.modules["__answer__"] = types.ModuleType("__answer__")  # dataclasses and pickle look it up by name
    namespace = vars(module)
    try:
        exec(exercise.prelude, namespace)
    except ModuleNotFoundError as error:
        return namespace, _lacks(error)
    linecache.cache[ANSWER_FILE] = (len(source), None, source.splitlines(keepends=True), ANSWER_FILE)
    try:
        code = compile(source, ANSWER_FILE, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        words = error.msg if isinstance(error, SyntaxError) else str(error) or "it is nested too deeply"
        return namespace, Verdict("error", None, f"This is not Python yet: {words}{where}.")
    try:
        with time_limit(exercise.seconds):
            exec(code, namespace)
    except TimeUpError:
        return namespace, _too_long(exercise)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return namespace, Verdict("error", None, describe_error(error))
    return namespace, None


def try_answer(id: str, source: str, seed: int | None = None) -> Verdict:
    """The verdict on an answer given as source text, as a notebook cell would hold it.

    `seed` fixes the random inputs; by default they are fresh. An unknown id is a KeyError.

    >>> try_answer("06-3", "def both(a, b):\\n    (a + b).backward()").status
    'passed'
    """
    exercise = get(id)
    if same_code(source, exercise.stub):
        return Verdict("not-yet", None, "This is still the stub.")
    with usual_modes():
        namespace, verdict = run_source(exercise, source)
        if verdict is not None:
            return verdict
        return judge_answer(exercise, namespace, source, seed)[0]
