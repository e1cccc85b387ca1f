"""A whole run: resumed after any end, the same with any executor, no result lost."""

import contextlib
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from gradlab.grading import Bundle, grade, grade_all, read_submissions
from gradlab.grading.executors import file_name
from gradlab.grading.judge import _HEADER

pytestmark = pytest.mark.sandbox
QUICK_COURSE = Path(__file__).with_name("quick_course.py")
COMMAND = [sys.executable, "-c", "import sys; from gradlab.cli import main; sys.exit(main())", "grade"]


RIGHT = {
    "92-1": "def first(values):\n    return float(np.sum(values))",
    "92-2": "def second(values):\n    return float(np.dot(values, np.ones(5)))",
}


def make_class(folder, tools, count, slow=0.0):
    folder.mkdir(exist_ok=True)
    for i in range(count):
        answers = [source if (i + int(id[-1])) % 3 else "1 / 0" for id, source in RIGHT.items()]
        cells = [
            tools.code(f"import time; time.sleep({slow})\n{source}", id)
            for id, source in zip(RIGHT, answers, strict=True)
        ]
        (folder / f"student{i:03d}.ipynb").write_bytes(tools.notebook(*cells))
    return folder


@pytest.fixture(scope="module")
def bundle():
    return Bundle.of(exercises=QUICK_COURSE, seed=7)


def wait_for(results, out, process):
    """Wait until the run has written so many results, or has ended."""
    deadline = time.monotonic() + 120
    while process.poll() is None and len(list((out / "results").glob("*.json"))) < results:
        assert time.monotonic() < deadline, "no result was written in time"
        time.sleep(0.02)


def run(folder, out, tools, *options, **kwargs):
    command = [*COMMAND, str(folder), "--out", str(out), "--exercises", str(QUICK_COURSE), "--seed", "5", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **kwargs)


def timeless(out):
    results = json.loads((out / "results.json").read_text())
    return [{**result, "seconds": 0} for result in results]


@pytest.fixture(scope="module")
def finished(tmp_path_factory, tools):
    """A class of 12 and the folder of an undisturbed run with one worker."""
    base = tmp_path_factory.mktemp("runs")
    folder = make_class(base / "class", tools, 12)
    done = run(folder, base / "one", tools, "--workers", "1")
    assert done.returncode == 0, done.stderr
    return folder, base / "one"


def test_the_files_of_a_run(finished):
    _, out = finished
    assert {"results.json", "grades.csv", "index.html", "run.json", "results", "feedback"} <= set(os.listdir(out))
    assert len(os.listdir(out / "results")) == len(os.listdir(out / "feedback")) == 12
    first = json.loads((out / "results.json").read_text())[0]
    assert list(first) == ["submission", "student", "score", "max_score", "isolation", "seconds", "exercises", "notes"]
    assert {"id", "status", "score", "max_score", "message", "misconception"} <= set(first["exercises"][0])
    assert json.loads((out / "run.json").read_text())["seed"] == 5


@pytest.mark.parametrize("workers", ["2", "4"])
def test_the_number_of_workers_changes_nothing(finished, tools, tmp_path, workers):
    folder, out = finished
    done = run(folder, tmp_path / "out", tools, "--workers", workers)
    assert done.returncode == 0, done.stderr
    assert timeless(tmp_path / "out") == timeless(out)


def test_any_executor_will_do(finished, bundle, tools, tmp_path):
    folder, _ = finished
    students = read_submissions(folder)[:3]
    alone = [result.without_time() for result in grade_all(bundle, students, tmp_path / "a")]
    with ThreadPoolExecutor(2) as pool:
        threads = [result.without_time() for result in grade_all(bundle, students, tmp_path / "b", pool, 2)]
    assert alone == threads
    with ProcessPoolExecutor(1) as pool:
        one = pool.submit(grade, bundle, students[0].submission()).result()
    assert one.without_time() == alone[0]


def test_a_second_run_takes_what_is_there_and_a_changed_file_is_graded_anew(
    finished, tools, tmp_path, bundle, monkeypatch
):
    folder = make_class(tmp_path / "class", tools, 3)
    graded = []
    monkeypatch.setattr("gradlab.grading.executors.grade", lambda b, s: graded.append(s.student) or grade(b, s))
    for expected in (["student000", "student001", "student002"], []):
        graded.clear()
        grade_all(bundle, read_submissions(folder), tmp_path / "out")
        assert graded == expected
    (folder / "student001.ipynb").write_bytes(tools.notebook(tools.code(RIGHT["92-1"])))
    (tmp_path / "out" / "results" / "student002.json").write_text('{"key": "cut off')
    results = grade_all(bundle, read_submissions(folder), tmp_path / "out")
    assert graded == ["student001", "student002"] and results[1].score == 2.0
    graded.clear()
    grade_all(bundle, read_submissions(folder), tmp_path / "out", fresh=True)
    assert len(graded) == 3


def test_results_written_beforehand_by_a_student_are_not_taken(bundle, tools, tmp_path):
    (tmp_path / "results").mkdir()
    forged = {"key": "0" * 64, "submission": "ada.ipynb", "student": "ada", "score": 99.0, "max_score": 4.0}
    forged |= {"isolation": "full", "seconds": 0.0, "exercises": [], "notes": []}
    (tmp_path / "results" / "ada.json").write_text(json.dumps(forged))
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ada.ipynb").write_bytes(tools.notebook(tools.code("1 / 0", "92-1")))
    (result,) = grade_all(bundle, read_submissions(tmp_path / "class"), tmp_path)
    assert result.score == 0.0


def test_the_teacher_is_told_of_every_file(tmp_path, tools):
    folder = make_class(tmp_path / "class", tools, 1)
    (folder / "bob.py").write_text("x = 1")
    (folder / "notes.txt").write_text("")
    done = run(folder, tmp_path / "out", tools)
    assert done.returncode == 0, done.stderr
    assert "WARNING: no notebook, so no points: bob (bob.py). Ask for the .ipynb file." in done.stderr
    assert "Not read: notes.txt: no notebook." in done.stderr
    bob = next(
        result for result in json.loads((tmp_path / "out/results.json").read_text()) if result["student"] == "bob"
    )
    assert bob["score"] == 0 and "it is a Python file" in bob["notes"][0]
    assert {outcome["status"] for outcome in bob["exercises"]} == {"error"}
    assert (
        "bob" in (tmp_path / "out/grades.csv").read_text() and "Not read" in (tmp_path / "out/index.html").read_text()
    )


def _processes():
    """Of each process on the machine: its parent, and its number with the time it began, by which to know it again."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                found[int(path.parent.name)] = int(fields[1]), (int(path.parent.name), fields[19])
    return found


def _started_by(pid):
    """What a process has started, and what that has."""
    processes = _processes()
    found = {pid}
    while more := {child for child, (parent, _) in processes.items() if parent in found} - found:
        found |= more
    return {processes[child][1] for child in found - {pid}}


@pytest.mark.parametrize("workers", ["1", "2"])
def test_after_kill_9_the_next_run_gives_the_same_results(finished, tools, tmp_path, workers):
    folder, out = finished
    started = set()
    rng = random.Random(int(workers))
    command = [*COMMAND, str(folder), "--out", str(tmp_path / "out"), "--exercises", str(QUICK_COURSE), "--seed", "5"]
    for killed in range(2):
        process = subprocess.Popen(
            [*command, "--workers", workers], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(3 * (killed + 1), tmp_path / "out", process)
        time.sleep(rng.random() * 0.05)
        process.send_signal(signal.SIGSTOP)  # so that it starts nothing more
        started |= _started_by(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(started) >= 4, "the grader has a judge and a sandbox"
    deadline = time.monotonic() + 30
    while (left := started & {known for _, known in _processes().values()}) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left, "something outlived the grader"
    done = run(folder, tmp_path / "out", tools, "--workers", workers)
    assert done.returncode == 0, done.stderr
    assert timeless(tmp_path / "out") == timeless(out)


@pytest.mark.long
def test_kill_9_at_twenty_random_moments(finished, tools, tmp_path, long_slice):
    folder, out = finished
    rng = random.Random(0)
    command = [*COMMAND, str(folder), "--exercises", str(QUICK_COURSE), "--seed", "5", "--workers", "2"]
    for round in range(20 if long_slice == 1.0 else 2):
        place = tmp_path / str(round)
        process = subprocess.Popen(
            [*command, "--out", str(place)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(rng.random() * 12)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert run(folder, place, tools).returncode == 0
        assert timeless(place) == timeless(out)


def test_ctrl_c_keeps_what_is_done(tools, tmp_path):
    folder = make_class(tmp_path / "class", tools, 12, slow=0.3)  # long enough for the signal to come in time
    command = [
        *COMMAND,
        str(folder),
        "--out",
        str(tmp_path / "out"),
        "--exercises",
        str(QUICK_COURSE),
        "--workers",
        "1",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(2, tmp_path / "out", process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "goes on from here" in said and "Traceback" not in said
    kept = {path.name: path.read_bytes() for path in (tmp_path / "out" / "results").glob("*.json")}
    assert len(kept) >= 2
    seed = json.loads((tmp_path / "out" / "run.json").read_text())["seed"]
    process = subprocess.run(command, capture_output=True, timeout=120)
    assert process.returncode == 0
    assert json.loads((tmp_path / "out" / "run.json").read_text())["seed"] == seed
    for name, content in kept.items():
        assert (tmp_path / "out" / "results" / name).read_bytes() == content


def test_a_judge_whose_grader_has_gone_ends_in_silence():
    ours, theirs = socket.socketpair()
    code = "from gradlab.grading.judge import main; main()"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE)
    theirs.close()
    question, course = json.dumps({"op": "open"}).encode(), str(QUICK_COURSE).encode()
    ours.sendall(_HEADER.pack(len(question), len(course)) + question + course)
    assert select.select([ours], [], [], 60)[0], "no answer"
    ours.close()  # with the answer unread: the other end sees a reset
    assert process.communicate(timeout=60)[1] == b"" and process.returncode == 0


def test_a_worker_that_is_killed_costs_nothing(tools, finished, tmp_path):
    folder, out = finished
    command = [*COMMAND, str(folder), "--out", str(tmp_path / "out"), "--exercises", str(QUICK_COURSE), "--seed", "5"]
    process = subprocess.Popen([*command, "--workers", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(1, tmp_path / "out", process)
    children = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(process.pid)], capture_output=True, text=True
    ).stdout
    workers = [int(line.split()[0]) for line in children.splitlines() if "spawn_main" in line]
    if workers:
        os.kill(workers[0], signal.SIGKILL)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert timeless(tmp_path / "out") == timeless(out)


def test_dask_with_a_lost_worker_gives_the_same_results(finished, tools, tmp_path):
    pytest.importorskip("distributed")
    folder, out = finished
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    scheduler_file = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    dask = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--port",
        "0",
        "--no-dashboard",
        "--host",
        "127.0.0.1",
    ]
    processes = [subprocess.Popen([*dask, "--scheduler-file", str(scheduler_file)], **quiet)]
    try:
        for _ in range(600):
            if scheduler_file.exists() and scheduler_file.read_text().endswith("}"):
                break
            time.sleep(0.1)
        address = json.loads(scheduler_file.read_text())["address"]
        worker = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            address,
            "--nthreads",
            "1",
            "--no-dashboard",
            "--no-nanny",
        ]
        workers = [subprocess.Popen([*worker, "--local-directory", str(tmp_path / f"w{i}")], **quiet) for i in range(2)]
        processes += workers
        command = [
            *COMMAND,
            str(folder),
            "--out",
            str(tmp_path / "out"),
            "--exercises",
            str(QUICK_COURSE),
            "--seed",
            "5",
        ]
        grading = subprocess.Popen(
            [*command, "--dask", address], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        wait_for(1, tmp_path / "out", grading)
        workers[0].kill()
        _, said = grading.communicate(timeout=240)
        assert grading.returncode == 0, said
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert timeless(tmp_path / "out") == timeless(out)


def test_file_names_are_safe_and_different():
    names = ["ada", "Ada", "../ada", "ada/..", "a" * 300, "=cmd()", "żółć", ".hidden", "con trol", ""]
    files = [file_name(name) for name in names]
    assert len(set(files)) == len(files)
    assert all("/" not in file and len(file) < 100 and not file.startswith((".", "=", "-")) for file in files)
