"""Ten realistic torch programs with one planted bug each: found, and named with its line."""

import pytest

from gradlab.diagnosis import watch
from tests.diagnosis.realistic import HEAD, PLANTED

pytest.importorskip("torch")


def diagnose(planted, folder):
    file = folder / "train.py"
    source = HEAD + planted.code
    file.write_text(source)
    scope = {"__name__": "train"}
    with watch() as w:
        exec(compile(source, str(file), "exec"), scope)
    scope["w"] = w
    line = next(number for number, text in enumerate(source.splitlines(), 1) if text.endswith("#!"))
    return eval(planted.ask, scope), (str(file), line)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_planted_bug_is_found_and_named(planted, tmp_path):
    found, place = diagnose(planted, tmp_path)
    assert found.cause == planted.cause, found.text()
    assert found.where == place, found.text()
    assert found.remedy
