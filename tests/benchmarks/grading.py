"""The grader beside nbgrader, in one run on the same exercises: processor seconds a submission, and the time for a class.

    python tests/benchmarks/grading.py --nbgrader PATH/TO/PYTHON [--few 6] [--many 500] [--soak 5000]

`--nbgrader` is a Python with nbgrader, ipykernel, torch and numpy (nbgrader wants an environment of its own); without it
only gradlab is measured. Processor seconds are those of the command and all its children, start-up included.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COURSE = ROOT / "tests" / "grading" / "course.py"
IDS = ("91-1", "91-2", "91-3")
_SET_CHILD_SUBREAPER = 36
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def measured(command: list[str], cwd: Path, **environment: str) -> tuple[float, float]:
    """Processor seconds and wall seconds of a command, with all that it starts.

    The time of a process counts for who waits for it. What a command leaves behind, or kills along with its parent, comes
    to us (Linux: PR_SET_CHILD_SUBREAPER), and is waited for here.
    """
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **ONE_THREAD, **environment}, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    wall = time.perf_counter() - start
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def three_exercises() -> list[type]:
    from gradlab import exercises

    return [exercise for exercise in exercises.load(COURSE) if exercise.id in IDS]


def course_of_three(folder: Path) -> Path:
    """The course file, cut to the three exercises that nbgrader is given as well."""
    source = COURSE.read_text()
    path = folder / "three.py"
    path.write_text(source[: source.index("class WithoutTorch")])
    return path


def answer(exercise: type, student: int) -> str:
    """What a student wrote: three in four are right."""
    wrong = exercise.wrong[0].source
    return exercise.solution if (student + int(exercise.id[-1])) % 4 else wrong


def gradlab_run(count: int, workers: int, folder: Path, watch: bool = False) -> tuple[float, float, list[int]]:
    """Processor seconds a submission, wall seconds, and the grader's memory in MB, read now and then."""
    from gradlab.grading.formats import notebook_of

    found = three_exercises()
    submissions = folder / f"class{count}"
    submissions.mkdir()
    for student in range(count):
        book = notebook_of(found)
        for cell in book["cells"]:
            for exercise in found:
                if cell["id"] == exercise.id:
                    cell["source"] = answer(exercise, student) + f"\n# {student}\n"
        (submissions / f"student{student:05d}.ipynb").write_text(json.dumps(book))
    code = "import sys; from gradlab.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "grade", str(submissions), "--out", str(folder / f"out{count}")]
    command += [
        "--exercises",
        str(course_of_three(folder)),
        "--seed",
        "1",
        "--workers",
        str(workers),
        "--require-sandbox",
    ]
    memory: list[int] = []
    stop = threading.Event()
    watcher = threading.Thread(target=_watch, args=(str(submissions), memory, stop)) if watch else None
    if watcher:
        watcher.start()
    cpu, wall = measured(command, ROOT)
    stop.set()
    if watcher:
        watcher.join()
    results = json.loads((folder / f"out{count}" / "results.json").read_text())
    assert len(results) == count and all(result["isolation"] == "full" for result in results)
    return cpu / count, wall, memory


def _watch(mark: str, memory: list[int], stop: threading.Event) -> None:
    """Resident memory, in MB, of the command and of all that it started and that lives on, once a second."""
    while not stop.wait(1.0):
        parents, roots = {}, set()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                parents[entry.name] = (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
                if mark in (entry / "cmdline").read_text():
                    roots.add(entry.name)
            except OSError:
                continue
        family = {name for name in parents if _descends(name, parents, roots)}
        memory.append(sum(_resident(name) for name in family) >> 20)


def _descends(name: str, parents: dict[str, str], roots: set[str]) -> bool:
    while name in parents and name not in roots:
        name = parents[name]
    return name in roots


def _resident(name: str) -> int:
    try:
        return int(Path("/proc", name, "statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def nbgrader_run(python: str, count: int, folder: Path) -> float:
    """Processor seconds a submission of nbgrader's autograder, batch mode, without its own sandbox (it has none)."""
    from gradlab.grading.formats import for_nbgrader, notebook_of

    course = folder / "nbgrader"
    source = course / "source" / "ps1"
    source.mkdir(parents=True)
    found = three_exercises()
    known = {exercise.id: exercise for exercise in found}
    book = for_nbgrader(notebook_of(found), known, course_of_three(folder).read_text())
    (source / "three.ipynb").write_text(json.dumps(book))
    where = {"PYTHONPATH": str(ROOT), "PATH": f"{Path(python).parent}:{os.environ['PATH']}"}
    measured([python, "-m", "nbgrader", "generate_assignment", "ps1", "--create"], course, **where)
    released = json.loads((course / "release" / "ps1" / "three.ipynb").read_text())
    for student in range(count):
        for cell in released["cells"]:
            for exercise in found:
                if cell["metadata"].get("nbgrader", {}).get("grade_id") == f"answer-{exercise.id}":
                    cell["source"] = answer(exercise, student)
        place = course / "submitted" / f"student{student:05d}" / "ps1"
        place.mkdir(parents=True)
        (place / "three.ipynb").write_text(json.dumps(released))
    cpu, _ = measured([python, "-m", "nbgrader", "autograde", "ps1", "--create"], course, **where)
    graded = list((course / "autograded").glob("*/ps1/three.ipynb"))
    assert len(graded) == count, f"nbgrader graded {len(graded)} of {count}"
    return cpu / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nbgrader", metavar="PYTHON")
    parser.add_argument("--few", type=int, default=6, help="submissions for nbgrader")
    parser.add_argument("--many", type=int, default=500, help="submissions for gradlab")
    parser.add_argument("--soak", type=int, default=0, help="submissions for a long run that watches memory")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours, wall, _ = gradlab_run(args.many, 2, folder)
        print(
            f"gradlab   {args.many} submissions: {ours * 1e3:.1f} ms CPU each, {wall:.1f} s in all, 2 workers, full isolation"
        )
        if args.nbgrader:
            theirs = nbgrader_run(args.nbgrader, args.few, folder)
            print(f"nbgrader  {args.few} submissions: {theirs:.2f} s CPU each")
            print(f"ratio     {theirs / ours:.0f}")
        if args.soak:
            each, wall, memory = gradlab_run(args.soak, 2, folder, watch=True)
            quarter = max(1, len(memory) // 4)
            first, last = max(memory[quarter : 2 * quarter]), max(memory[-quarter:])
            print(f"soak      {args.soak} submissions: {each * 1e3:.1f} ms CPU each, {wall:.0f} s in all")
            print(
                f"memory    of all processes of the grader: {first} MB at most in the second quarter, {last} MB in the last"
            )


if __name__ == "__main__":
    main()
