"""gradlab why script.py: exit status and what it prints."""

import linecache
import subprocess
import sys
import textwrap
from dataclasses import dataclass

import pytest

from gradlab.cli import main

pytest.importorskip("torch")

STEP = """
import sys
import torch
from torch import nn

def main():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        {body}

main()
"""


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def why(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(source, *arguments):
        (tmp_path / "train.py").write_text(textwrap.dedent(source))
        linecache.checkcache()
        status = main(["why", "train.py", *arguments])
        return Done(status, *capsys.readouterr())

    return run


def step(*lines):
    return STEP.format(body="\n        ".join(lines))


def test_status_0_when_all_have_gradients(why):
    forward = "loss = net(torch.ones(4, 2)).pow(2).mean()"
    source = step("opt.zero_grad()", forward, "loss.backward()", "opt.step()", "opt.zero_grad()")
    done = why(source)
    assert (done.returncode, done.stderr) == (0, "")
    assert "all 4 parameters have gradients" in done.stdout
    assert "train.py line 12" in done.stdout


def test_status_1_names_parameter_cause_and_line(why):
    forward = ("h = net[0](torch.ones(4, 2))", "h = h.detach()", "loss = net[2](h).pow(2).mean()")
    source = step("opt.zero_grad()", *forward, "loss.backward()")
    done = why(source)
    assert done.returncode == 1
    assert "2 of 4 parameters" in done.stdout
    assert "net.0.weight" in done.stdout and "detached" in done.stdout and "train.py line 12" in done.stdout
    assert "net.2.weight" not in done.stdout.split("\n\n")[0]


def test_gradients_cleared_before_the_step_are_a_lack(why):
    source = step("loss = net(torch.ones(4, 2)).pow(2).mean()", "loss.backward()", "opt.zero_grad()", "opt.step()")
    done = why(source)
    assert done.returncode == 1
    assert "cleared" in done.stdout and "train.py line 12" in done.stdout


def test_status_2_when_the_script_fails(why):
    done = why(step("net(torch.ones(4, 2)).argmax().float().backward()"))
    assert done.returncode == 2
    assert "does not require grad" in done.stderr and "watching.py" not in done.stderr
    assert "non-differentiable-op" in done.stdout


def test_without_a_backward_the_last_scalar_is_taken(why):
    done = why(step("loss = net(torch.ones(4, 2)).mean()"))
    assert done.returncode == 1
    assert "no backward was run" in done.stdout and "no-backward-yet" in done.stdout


def test_a_script_on_gradlab_alone_does_not_load_torch(tmp_path):
    (tmp_path / "small.py").write_text(
        "import sys\nimport gradlab\nx = gradlab.tensor([1.0, 2.0], requires_grad=True)\n"
        "(x * x).sum().backward()\nprint('torch' in sys.modules)\n"
    )
    command = [sys.executable, "-c", "import sys; from gradlab.cli import main; sys.exit(main())", "why", "small.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines()[0] == "False"
    assert done.returncode == 0


def test_arguments_reach_the_script_and_its_exit_status_counts(why):
    done = why("import sys\nprint(sys.argv)\nsys.exit(3)\n", "a", "--b")
    assert done.stdout.splitlines()[0] == "['train.py', 'a', '--b']"
    assert done.returncode == 2


def test_a_missing_file_is_said(why, capsys):
    assert main(["why", "nowhere.py"]) == 2
    assert "there is no file nowhere.py" in capsys.readouterr().err
