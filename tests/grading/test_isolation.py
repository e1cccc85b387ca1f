"""What a submission can see, at every level; and what is said where the level is low."""

import ctypes
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gradlab.grading import plain
from gradlab.grading.judge import judge_for
from gradlab.grading.sandbox import Sandbox, SandboxError, client, landlock
from gradlab.grading.sandbox.child import CELL, HEADER

pytestmark = pytest.mark.sandbox
CANARY = "canary-" + "7f3a9c"  # in two pieces: this file must not be what is found


def say(child, source):
    """What a cell raises, or None."""
    reply = child.ask(CELL, plain.encode({"source": source, "file": "<cell>"}), 60.0)
    return plain.decode(reply.body)["text"] if reply.kind == "error" else reply.kind


@pytest.fixture(scope="module")
def secret_place(tmp_path_factory):
    """Canaries where a grader has its secrets: the course file, another submission, the results, the environment."""
    folder = tmp_path_factory.mktemp("secrets")
    course = (Path(__file__).with_name("course.py")).read_text()
    course = course.replace('solution = "def tanh_back', f'solution = "# {CANARY}-solution\\ndef tanh_back')
    course = course.replace("slope = 1 - np.tanh", f"slope = '{CANARY}-judge' and 1 - np.tanh")
    (folder / "course.py").write_text(course)
    (folder / "class").mkdir()
    (folder / "class" / "bob.ipynb").write_text(
        json.dumps({"cells": [{"cell_type": "code", "source": f"# {CANARY}-bob"}]})
    )
    (folder / "out").mkdir()
    (folder / "out" / "results.json").write_text(f'"{CANARY}-results"')
    os.environ["GRADLAB_TEST_SECRET"] = f"{CANARY}-environment"
    yield folder
    del os.environ["GRADLAB_TEST_SECRET"]


LEVELS = ["full", *(["user"] if os.geteuid() == 0 else ["process"])]


@pytest.fixture(scope="module", params=LEVELS)
def child(request, secret_place):
    judge = judge_for((secret_place / "course.py").read_text())
    assert (
        CANARY
        in next(e for e in judge.catalog() if e["id"] == "91-1")["stub"] + (secret_place / "course.py").read_text()
    )
    sandbox = Sandbox(hidden=[secret_place], level=request.param)
    child = sandbox.fork()
    say(child, "import torch, numpy\nclass Mine: pass\ndef tanh_back(g, x, out): return g")
    yield child
    child.end()
    sandbox.close()


def test_no_canary_in_the_memory_of_a_student_process(child, secret_place):
    """Read from outside, page by page: more than the process itself could."""
    mark = f"mark-{time.time_ns()}"
    say(child, f"marks = ['{mark}' + str(i) for i in range(3)]")
    assert _search_memory(mark.encode()), "the search does not find what is there"
    assert not _search_memory(CANARY.encode())


def _search_memory(needle):
    """The sandboxed processes (by their command line) whose readable memory holds the bytes."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if b"grading.sandbox.zygote" not in (entry / "cmdline").read_bytes():
                continue
            if b"bwrap" in (entry / "cmdline").read_bytes().split(b"\0")[0]:
                continue
            with open(entry / "mem", "rb", buffering=0) as memory:
                for line in (entry / "maps").read_text().splitlines():
                    bounds, rights, *_ = line.split()
                    start, end = (int(part, 16) for part in bounds.split("-"))
                    if (
                        rights[0] == "r"
                        and "[v" not in line
                        and end - start < 1 << 30
                        and _in(memory, start, end, needle)
                    ):
                        found.append(entry.name)
                        break
        except OSError:
            continue
    return found


def _in(memory, start, end, needle):
    memory.seek(start)
    try:
        return needle in memory.read(end - start)
    except (OSError, OverflowError):
        return False


def test_no_canary_in_the_files_that_a_student_process_can_read(child, secret_place):
    source = f"""
import os
needle = "{CANARY[:7]}" + "{CANARY[7:]}"
hits, read = [], 0
for top, folders, files in os.walk("/"):
    if top.startswith(("/usr/lib", "/usr/share", "/proc", "/dev")): folders[:] = []; continue
    if top.endswith(("site-packages", "dist-packages")): folders[:] = [f for f in folders if f.startswith("gradlab")]
    if "/lib/python3" in top and "packages" not in top: folders[:] = [f for f in folders if f.endswith("packages")]
    for name in files:
        path = os.path.join(top, name)
        try:
            if os.path.getsize(path) < 1_000_000 and not path.endswith((".so", ".a")):
                read += 1
                if needle.encode() in open(path, "rb").read(): hits.append(path)
        except OSError: pass
raise ValueError(f"{{len(hits)}} hits, many read: {{read > 20}}")
"""
    assert say(child, source) == "0 hits, many read: True" or child_is_confined(child)


def child_is_confined(child):
    """At a lower level landlock does not even let it list /."""
    return "Errno" in say(child, "import os\nos.listdir('/')")


def test_the_course_and_the_submissions_are_out_of_reach(child, secret_place):
    for path in (
        secret_place / "course.py",
        secret_place / "class" / "bob.ipynb",
        secret_place / "out" / "results.json",
    ):
        assert "Errno" in say(child, f"open({str(path)!r}).read()")
    import gradlab

    own = Path(gradlab.__file__).parent
    for place in ("exercises/lesson_01.py", "exercises/_framework.py"):
        assert "Errno" in say(child, f"open({str(own / place)!r}).read()")
    assert "Errno" in say(child, f"open({str(own.parent / 'lessons' / 'build.py')!r}).read()")
    assert "No module" in say(child, "import gradlab.exercises.lesson_01") or "package" in say(
        child, "import gradlab.exercises.lesson_01"
    )


def test_the_environment_holds_nothing_of_the_grader(child):
    assert (
        say(child, "import os\nraise ValueError(sorted(k for k in os.environ if 'SECRET' in k or 'PATH' in k))") == "[]"
    )


def test_nothing_is_writable_but_the_scratch_folder(child):
    import torch

    for path in ("/etc/x", "/usr/lib/x", "/x", str(Path(torch.__file__).with_name("x.py")), "/dev/x"):
        assert "Errno" in say(child, f"open({path!r}, 'w')")
    assert say(child, "open('mine', 'w').write('x'); raise ValueError(open('mine').read())") == "x"
    assert say(child, "import tempfile\nwith tempfile.TemporaryFile() as f: f.write(b'x')") == "done"


def test_one_submissions_scratch_is_not_the_nexts(secret_place):
    for level in LEVELS:
        sandbox = Sandbox(level=level)
        first, second = sandbox.fork(), sandbox.fork()
        say(first, "open('left', 'w').write('x')\nimport os, tempfile\nplace = os.getcwd()")
        place = say(first, "raise ValueError(place)")
        assert "Errno" in say(second, f"open({place!r} + '/left').read()")
        first.end()
        second.end()
        sandbox.close()


def test_no_proc_no_other_process(child):
    assert "Errno" in say(child, "open('/proc/self/maps').read()")
    assert "Errno" in say(child, "open('/proc/1/environ').read()")


def _deny_namespaces():
    """Go into a user namespace where everybody exists and no further one may be made (run by root, before exec)."""
    read, write = os.pipe()
    parent = os.getpid()
    if os.fork() == 0:  # the maps are written from outside
        os.read(read, 1)
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{parent}/{name}").write_text("0 0 65536")
        os._exit(0)
    ctypes.CDLL(None).unshare(0x10000000)
    os.write(write, b"x")
    os.wait()
    Path("/proc/sys/user/max_user_namespaces").write_text("0")


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces are denied by root")
def test_with_user_namespaces_denied_the_level_is_user_and_the_reason_is_said(tmp_path):
    code = """
import json
from gradlab.grading.sandbox import Sandbox
s = Sandbox(); print(json.dumps([s.isolation, s.reason])); s.close()
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, preexec_fn=_deny_namespaces
    )
    assert done.returncode == 0, done.stderr
    level, reason = json.loads(done.stdout)
    assert level == "user" and reason.startswith("full: ") and "namespaces" in reason


def test_without_bubblewrap_the_level_falls_and_require_sandbox_refuses(monkeypatch, tmp_path, tools, capsys):
    from gradlab.cli import main

    monkeypatch.setattr(client.shutil, "which", lambda name: None)
    sandbox = Sandbox()
    assert sandbox.isolation != "full" and "apt install bubblewrap" in sandbox.reason
    sandbox.close()
    (tmp_path / "ada.ipynb").write_bytes(tools.answered())
    command = ["grade", str(tmp_path), "--out", str(tmp_path / "out"), "--exercises", str(tools.COURSE)]
    assert main([*command, "--require-sandbox"]) == 1
    assert "bubblewrap" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main([*command, "--workers", "1"]) == 0
    (result,) = json.loads((tmp_path / "out" / "results.json").read_text())
    assert result["isolation"] == sandbox.isolation and result["score"] == 9.0
    assert "Isolation:" in capsys.readouterr().err


def test_a_plain_python_serves_where_nothing_else_is(monkeypatch, tools):
    monkeypatch.setattr(client.sys, "platform", "darwin")
    sandbox = Sandbox()
    assert sandbox.isolation == "process" and "bubblewrap is for Linux" in sandbox.reason
    child = sandbox.fork()
    assert say(child, "print('noise'); raise ValueError(1 + 1)") == "2"
    assert child.ask(CELL, plain.encode({"source": "while True: pass", "file": "x"}), 1.0).kind == "timeout"
    child.end()
    sandbox.close()


def test_an_unknown_level_starts_nothing():
    if os.geteuid() != 0:
        with pytest.raises(SandboxError, match="only root"):
            Sandbox(level="user")


def test_landlock_leaves_out_what_is_hidden(tmp_path):
    for name in ("a/b/secret", "a/c", "d"):
        (tmp_path / name).mkdir(parents=True)
    found = landlock.without([tmp_path], [tmp_path / "a" / "b" / "secret", tmp_path / "d"])
    assert [str(path.relative_to(tmp_path)) for path in found] == ["a/c"]


def test_time_spent_waiting_for_a_processor_is_not_the_answers():
    class Stream:
        """Late by a second each time it is asked in time, twice."""

        late = 2

        def write(self, data, deadline):
            self.token = data[4:20]

        def read(self, length, deadline):
            if self.late:
                self.late -= 1
                raise TimeoutError
            return HEADER.pack(0, self.token, b"d")[:length]

    waited = iter([1.0, 2.0, 2.0])
    child = client.Child(Stream(), lambda: 0.0, lambda: next(waited))
    assert child.ask(CELL, b"", 1.0).kind == "done"
    child = client.Child(Stream(), lambda: 0.0, lambda: 0.0)
    assert child.ask(CELL, b"", 1.0).kind == "timeout"
