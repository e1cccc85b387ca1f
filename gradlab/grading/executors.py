"""Grading a class: with any executor, one result file at a time, so that a run that was ended goes on where it was."""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import multiprocessing
import multiprocessing.util
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from multiprocessing import connection
from pathlib import Path

from gradlab.grading.clerk import dismiss, grade
from gradlab.grading.records import Bundle, Result, Submission
from gradlab.grading.submissions import Student

_ATTEMPTS = 3
Task = tuple[Student, Path, str, Submission]


def process_pool(workers: int) -> Executor:
    """Worker processes that end when this one does, however it ends."""
    context = multiprocessing.get_context("spawn")
    return concurrent.futures.ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)


def dask_pool(address: str) -> Executor:
    """The workers of a running Dask scheduler. They need gradlab installed, and bubblewrap for full isolation."""
    try:
        from distributed import Client
    except ImportError:
        raise RuntimeError("--dask needs Dask: pip install 'dask[distributed]'") from None
    return Client(address, timeout=30).get_executor(pure=False, retries=_ATTEMPTS)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    multiprocessing.util.Finalize(None, dismiss, exitpriority=10)


def grade_all(
    bundle: Bundle,
    students: Sequence[Student],
    out: Path,
    executor: Executor | None = None,
    width: int = 1,
    fresh: bool = False,
    progress: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """The results of a class, sorted by student; each is written to `out/results` as soon as it is known.

    A result that is there already, for the same bundle and the same files, is taken as it is unless `fresh`. `executor`
    is any concurrent.futures.Executor (None: here, one after the other), `width` how many submissions are read ahead.
    """
    folder = out / "results"
    folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Result] = {}

    def done(student: Student, result: Result, path: Path, key: str) -> None:
        write_whole(path, json.dumps({"key": key, **result.as_dict()}, indent=1, ensure_ascii=False))
        results[student.name] = result
        progress(result)

    def todo() -> Iterator[Task]:
        for student in students:
            submission, path = student.submission(), folder / f"{file_name(student.name)}.json"
            key = hashlib.sha256(f"{bundle.key()} {submission.key()}".encode()).hexdigest()
            kept = None if fresh else _kept(path, key)
            if kept is None:
                yield student, path, key, submission
            else:
                results[student.name] = kept
                progress(kept)

    if executor is None:
        for student, path, key, submission in todo():
            done(student, grade(bundle, submission), path, key)
    else:
        for (student, path, key, _), result in _mapped(executor, bundle, todo(), max(1, width)):
            done(student, result, path, key)
    return [results[name] for name in sorted(results)]


def _mapped(executor: Executor, bundle: Bundle, tasks: Iterator[Task], width: int) -> Iterator[tuple[Task, Result]]:
    """Every task with its result, as they come; at most `width` tasks are out at a time, so memory stays flat."""
    out: dict[Future[Result], Task] = {}
    failures: dict[str, int] = {}

    def send(task: Task) -> None:
        out[executor.submit(grade, bundle, task[3])] = task

    for task in tasks:
        send(task)
        while len(out) >= width:
            yield from _collect(out, failures, bundle, send)
    while out:
        yield from _collect(out, failures, bundle, send)


def _collect(
    out: dict[Future[Result], Task],
    failures: dict[str, int],
    bundle: Bundle,
    send: Callable[[Task], None],
) -> Iterable[tuple[Task, Result]]:
    finished, _ = concurrent.futures.wait(out, return_when=concurrent.futures.FIRST_COMPLETED)
    for future in finished:
        task = out.pop(future)
        try:
            yield task, future.result()
        except concurrent.futures.BrokenExecutor:
            raise
        except Exception as error:  # a worker was lost with it, or its sandbox failed: not the student's doing
            failures[task[2]] = failures.get(task[2], 0) + 1
            if failures[task[2]] < _ATTEMPTS:
                send(task)
            else:
                raise RuntimeError(f"{task[0].name} could not be graded: {error}") from error


def _kept(path: Path, key: str) -> Result | None:
    """The result in a file, if it was written whole and for the same bundle and files."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Result.from_dict(data) if data["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_whole(path: Path, text: str) -> None:
    """All of it or nothing, whenever this process ends."""
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    unfinished.write_text(text, encoding="utf-8", errors="replace")
    os.replace(unfinished, path)


def file_name(student: str) -> str:
    """A name for a student's files: the student's own where that is a safe one.

    >>> file_name("ada"), file_name("../ada")
    ('ada', 'ada-60088279')
    """
    if re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,60}", student):
        return student
    safe = re.sub(r"[^\w-]+", "-", student).strip("-")[:60]
    return f"{safe}-{hashlib.sha256(student.encode()).hexdigest()[:8]}".lstrip("-")
