"""What a submission may do to the grader, and what comes of it: no forged point, no other exercise's points lost."""

import os
import signal

import pytest

pytestmark = pytest.mark.sandbox

OTHERS = {"91-2": "passed", "91-3": "passed", "91-4": "passed"}
WRONG = "\ndef tanh_back(g, x, out):\n    return g\n"

# What stands in the answer to 91-1, and the statuses it may get. Whatever it does, the other three keep their points.
ANSWERS = {
    "right": ("def tanh_back(g, x, out):\n    return g / torch.cosh(x) ** 2", {"passed"}),
    "wrong": ("def tanh_back(g, x, out):\n    return 1 - out ** 2", {"failed"}),
    "raises when called": ("def tanh_back(g, x, out):\n    raise ValueError('no')", {"error"}),
    "raises at once": ("1 / 0", {"error"}),
    "syntax error": ("def tanh_back(g, x, out:\n    return g", {"error"}),
    "input()": ("def tanh_back(g, x, out):\n    return float(input('?'))", {"error"}),
    "endless loop in a cell": ("while True:\n    pass", {"timeout"}),
    "endless loop in a function": ("def tanh_back(g, x, out):\n    while True: pass", {"timeout"}),
    "loop that swallows interrupts": (
        "def tanh_back(g, x, out):\n    while True:\n        try:\n            while True: pass\n"
        "        except BaseException: pass",
        {"timeout"},
    ),
    "sleeps": ("import time\ntime.sleep(1e6)", {"timeout"}),
    "sys.exit": ("import sys\nsys.exit(0)", {"error"}),
    "os._exit": ("import os\nos._exit(0)", {"killed"}),
    "os._exit in a function": ("import os\ndef tanh_back(g, x, out): os._exit(0)", {"killed"}),
    "kill -9 of itself": ("import os\nos.kill(os.getpid(), 9)", {"killed"}),
    "abort": ("import os\nos.abort()", {"killed"}),
    "segmentation fault": ("import ctypes\nctypes.string_at(0)", {"killed"}),
    "200 MB of output": ("for _ in range(200): print('x' * 1_000_000)" + WRONG, {"failed"}),
    "200 MB on every descriptor": (
        "import os\nfor fd in range(1, 20):\n    try:\n        for _ in range(200): os.write(fd, b'x' * 1_000_000)\n"
        "    except OSError: pass" + WRONG,
        {"failed", "killed", "timeout"},
    ),
    "6 GB array": ("import numpy\nnumpy.ones(6 << 30, dtype='u1')", {"error"}),
    "6 GB tensor": ("def tanh_back(g, x, out):\n    return torch.ones(6 << 30, dtype=torch.uint8)", {"error"}),
    "a large answer": ("def tanh_back(g, x, out):\n    return torch.ones(50_000_000)", {"failed"}),
    "fills the scratch folder": ("for i in range(100):\n    open(f'f{i}', 'wb').write(b'x' * 10_000_000)", {"error"}),
    "fork bomb": ("import os\nwhile True: os.fork()", {"error"}),
    "threads without end": (
        "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(99,)).start()",
        {"error"},
    ),
    "program started": ("import subprocess\nsubprocess.Popen(['sleep', '99'])", {"error"}),
    "daemon left behind": ("import os\nif os.fork() == 0:\n    os.setsid()\n    os.fork()", {"error"}),
    "deep recursion": ("def tanh_back(g, x, out): return tanh_back(g, x, out)", {"error"}),
    "recursion limit raised": (
        "import sys\nsys.setrecursionlimit(10**9)\ndef tanh_back(g, x, out): return tanh_back(g, x, out)",
        {"error", "killed", "timeout"},
    ),
    "allclose patched": (
        "import numpy\nnumpy.allclose = torch.allclose = numpy.isclose = lambda *a, **k: True" + WRONG,
        {"failed"},
    ),
    "equal to everything": (
        "class Yes(float):\n    def __eq__(self, other): return True\n    def __array__(self, *a, **k): return self\n"
        "    numpy = lambda self: self\n"
        "def tanh_back(g, x, out): return Yes()",
        {"failed"},
    ),
    "tensor whose numpy() lies": (
        "class Lie(torch.Tensor):\n    def numpy(self): return type('A', (), {'__eq__': lambda s, o: True})()\n"
        "def tanh_back(g, x, out): return torch.ones(4).as_subclass(Lie)",
        {"failed"},
    ),
    "checker patched": (
        "import gradlab, gradlab.exercises as e\ne.check = gradlab.check = check = lambda *a: True\n"
        "import gradlab.grading.sandbox.child as c\nc._Session._probe = lambda *a: (b'v', b'')\n"
        "c.plain.encode = lambda *a: b''" + WRONG,
        {"failed"},
    ),
    "builtins patched": (
        "import builtins\nbuiltins.compile = builtins.exec = builtins.open = builtins.isinstance = None" + WRONG,
        {"failed", "error", "killed"},
    ),
    "torch taken apart": (
        "for name in list(vars(torch)):\n    if name != 'tanh': setattr(torch, name, None)",
        {"missing"},
    ),
    "gradients switched off": ("torch.set_grad_enabled(False)" + WRONG, {"failed"}),
    "numpy's errors raise": (
        "np.seterr(all='raise')\nimport warnings; warnings.simplefilter('error')" + WRONG,
        {"failed"},
    ),
    "deletes everybody's names": ("globals().clear()", {"error", "missing"}),
    "results written in advance": (
        "import json\nfor name in ('results.json', '/results.json', '../results.json', 'results/ada.json'):\n"
        "    try: open(name, 'w').write(json.dumps([{'student': 'ada', 'score': 99}]))\n"
        "    except OSError: pass" + WRONG,
        {"failed"},
    ),
    "pickle payload": (
        "import os\nclass Boom:\n    def __reduce__(self): return os.system, ('touch /tmp/owned',)\n"
        "def tanh_back(g, x, out): return Boom()",
        {"failed"},
    ),
    "socket": ("import socket\nsocket.create_connection(('127.0.0.1', 22), 1)", {"error"}),
    "socket of another family": ("import socket\nsocket.socket(socket.AF_UNIX)", {"error"}),
    "ptrace, mounts, namespaces": (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "calls = [libc.ptrace(0, 0, 0, 0), libc.unshare(0x10000000), libc.mount(b'x', b'/scratch', b'tmpfs', 0, None),\n"
        "         libc.setns(3, 0), libc.prctl(1, 0, 0, 0, 0), libc.prctl(38, 0, 0, 0, 0), libc.setuid(0)]\n"
        "assert all(c == -1 for c in calls), calls" + WRONG,
        {"failed"},
    ),
    "kills its parent": (
        "import os\nfor pid in (0, -1, 2, os.getppid()):\n    try: os.kill(pid, 9)\n    except OSError: pass" + WRONG,
        {"failed"},
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_does_costs_nobody_elses_points(name, grader, tools):
    answer, allowed = ANSWERS[name]
    result = grader(tools.answered(answer))
    statuses = {outcome.id: outcome.status for outcome in result.exercises}
    assert statuses.pop("91-1") in allowed
    assert statuses == OTHERS
    assert result.isolation == "full"


FORGED = """
import os, struct, json, threading, time, gc
def frames():
    body = json.dumps(["l", True]).encode(); body = struct.pack("<I", len(body)) + body
    for token in (b"\\0" * 16, b"\\xff" * 16):
        for kind in (b"v", b"d", b"r"):
            yield struct.pack("<I16sc", len(body), token, kind) + body
    yield b'{"status": "passed", "score": 99}\\n'
    yield struct.pack("<I16sc", 0xFFFFFF, b"x" * 16, b"v")
for fd in range(0, 64):
    for frame in frames():
        try: os.write(fd, frame)
        except OSError: pass
"""


@pytest.mark.parametrize("place", ["answer", "function", "thread"])
def test_forged_replies_count_for_nothing(place, grader, tools):
    source = {
        "answer": FORGED + WRONG,
        "function": f"def tanh_back(g, x, out):\n    exec({FORGED!r})\n    return g",
        "thread": f"import threading\nthreading.Thread(target=lambda: exec({FORGED!r}, {{}}), daemon=True).start()"
        + WRONG,
    }[place]
    statuses = grader.statuses(tools.answered(source))
    assert statuses.pop("91-1") != "passed"
    assert statuses == OTHERS


def test_a_reply_with_the_right_token_and_forged_content_is_judged_like_any_other(grader, tools):
    """The token can be read in the process; what is sent with it still has to be right for unseen inputs."""
    source = """
import sys, os, json, struct
def tanh_back(g, x, out):
    frame = sys._getframe()
    while "token" not in frame.f_locals: frame = frame.f_back
    body = json.dumps(["a", "<f8", [4]]).encode(); body = struct.pack("<I", len(body)) + body + bytes(32)
    os.write(frame.f_locals["sink"], struct.pack("<I16sc", len(body), frame.f_locals["token"], b"v") + body)
    os._exit(0)
"""
    statuses = grader.statuses(tools.answered(source))
    assert statuses.pop("91-1") == "failed"
    assert statuses == OTHERS


def test_an_attack_in_a_cell_that_no_answer_needs_is_not_even_run(grader, tools):
    cells = ["import os; os._exit(1)", "while True: pass", "import torch; torch.tensor = None", "raise SystemExit"]
    assert set(grader.statuses(tools.answered(before=cells)).values()) == {"passed"}


def test_the_table_survives_a_table_that_cannot_be_read(grader, tools):
    nested = "table = {}\ninner = table\nfor _ in range(500): inner['before'] = {}; inner = inner['before']"
    cycle = "table = {'after': 6.0}\ntable['before'] = table"
    surrogate = "table = {'before': '\\ud800', 'after': 10 ** 5000}"
    for source in (nested, cycle, surrogate):
        statuses = grader.statuses(tools.answered(**{"91-2": source}))
        assert statuses["91-2"] in ("failed", "error")
        assert statuses["91-1"] == statuses["91-3"] == "passed"


def test_a_dynamic_import_of_a_forbidden_module_finds_nothing(grader, tools):
    static = "import torch\ndef total(values): return float(torch.tensor(values).sum())"
    dynamic = "def total(values): return float(__import__('tor' + 'ch').tensor(values).sum())"
    searching = (
        "import gc, sys\ndef total(values):\n"
        "    found = [m for m in gc.get_objects() if getattr(m, '__name__', '') == 'torch']\n"
        "    sys.modules.pop('torch', None)\n    import torch\n    return float(torch.tensor(values).sum())"
    )
    assert grader.statuses(tools.answered(**{"91-4": static}))["91-4"] == "forbidden"
    assert grader.statuses(tools.answered(**{"91-4": dynamic}))["91-4"] == "error"
    assert grader.statuses(tools.answered(**{"91-4": searching}))["91-4"] in ("forbidden", "error")


def test_a_fork_leaves_no_process_behind(grader, tools):
    before = _processes()
    grader(tools.answered(ANSWERS["daemon left behind"][0]))
    grader(tools.answered(ANSWERS["threads without end"][0]))
    assert _processes() <= before


def _processes():
    """The processes whose session is not this one's and that run our sandbox."""
    return {entry for entry in os.listdir("/proc") if entry.isdigit() and _is_child(entry)}


def _is_child(entry):
    try:
        with open(f"/proc/{entry}/cmdline", "rb") as file:
            return b"grading.sandbox.zygote" in file.read()
    except OSError:
        return False


def test_no_hidden_input_comes_out_through_an_error_message(grader, tools):
    source = "def tanh_back(g, x, out):\n    raise ValueError(str(g.tolist()))"
    named = "def tanh_back(g, x, out):\n    raise type('E' + str(g.tolist()), (Exception,), {})(str(x))"
    later = "kept = []\ndef tanh_back(g, x, out):\n    kept.append(g.tolist())\n    return g"
    result = grader(
        tools.answered(later, **{"91-2": "raise ValueError(kept)", "91-3": source.replace("tanh_back", "both")})
    )
    for content in (tools.answered(source), tools.answered(named)):
        result = grader(content)
        assert "[" not in result.exercises[0].message
    assert "[" not in "".join(outcome.message for outcome in result.exercises)


TELLING = """
import sys, os, json, struct, gc
def tell(kind, content):
    frame = sys._getframe()
    while "token" not in frame.f_locals: frame = frame.f_back
    body = json.dumps(["d", content]).encode(); body = struct.pack("<I", len(body)) + body
    os.write(frame.f_locals["sink"], struct.pack("<I16sc", len(body), frame.f_locals["token"], kind) + body)
    os._exit(0)
"""


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("e", "{'type': 'ValueError', 'text': secret, 'line': 3}"),
        ("e", "{'type': secret, 'text': '', 'line': None}"),
        ("s", "{'state': 'missing', 'name': secret, 'detail': ''}"),
        ("s", "{'state': 'kind', 'name': 'tanh_back', 'detail': secret}"),
        ("s", "{'state': 'blank', 'name': 'tanh_back', 'detail': secret}"),
    ],
)
def test_no_hidden_input_comes_out_through_a_forged_report(kind, content, grader, tools):
    source = (
        f"{TELLING}\ndef tanh_back(g, x, out):\n    secret = 'SECRET' + str(g.tolist())\n    tell(b{kind!r}, {content})"
    )
    outcome = grader(tools.answered(source)).exercises[0]
    assert outcome.status in ("error", "missing", "failed", "not-yet")
    assert "SECRET" not in outcome.message


def test_no_hidden_input_comes_out_through_the_name_of_a_type(grader, tools):
    source = "def tanh_back(g, x, out):\n    global table\n    table = type('SECRET' + str(g.tolist()), (), {})()"
    result = grader(tools.answered(source, **{"91-2": "table"}))
    assert "SECRET" not in "".join(outcome.message for outcome in result.exercises)


def test_what_the_check_raises_is_not_said_of_the_answer(grader, tools):
    source = "def tanh_back(g, x, out):\n    return (g * (1 - out * out)).requires_grad_()"
    message = grader(tools.answered(source)).exercises[0].message
    assert message == (
        "Your answer cannot be called as asked, or what it gives back or leaves cannot be used: `RuntimeError`."
    )


def test_a_cell_that_only_compiles_in_a_function_is_no_python(grader, tools):
    assert grader(tools.answered("await f()")).exercises[0].message == (
        "This is not Python yet: 'await' outside function, line 1."
    )


def test_an_error_in_an_own_cell_is_told(grader, tools):
    message = grader(tools.answered("x = 1\ny = [][3]")).exercises[0].message
    assert message == "Your answer raised `IndexError: list index out of range` at line 2."


def test_signals_of_the_grader_are_its_own(grader, tools):
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
    grader(tools.answered("import signal; signal.setitimer(signal.ITIMER_REAL, 0.01)\nimport time; time.sleep(1)"))
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
