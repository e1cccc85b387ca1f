"""The pages and tables of a run: whole, escaped, without hidden inputs."""

import csv
import io
import json
import re

import pytest

from gradlab.grading import Outcome, Result
from gradlab.grading.judge import judge_for
from gradlab.grading.records import STATUSES
from gradlab.grading.reports import SIGNS, WORDS, grades_csv, write_reports

EVIL = '"><script>alert(1)</script>'


@pytest.fixture(scope="module")
def catalog(tools):
    return judge_for(tools.COURSE.read_text()).catalog()


def result(student, *statuses, message="", misconception=None, notes=()):
    ids = ("91-1", "91-2", "91-3", "91-4")
    outcomes = tuple(
        Outcome(id, status, 2.0 if status == "passed" else 0.0, 2.0, message, misconception)
        for id, status in zip(ids, statuses, strict=True)
    )
    score = sum(outcome.score for outcome in outcomes)
    return Result(f"{student}.ipynb", student, score, 8.0, "full", 0.1, outcomes, notes)


@pytest.fixture
def written(tmp_path, catalog):
    results = [
        result("=1+1", "passed", "failed", "not-yet", "error", misconception="only-one", message="A `slope` is 2 < 3."),
        result(EVIL, "missing", "forbidden", "timeout", "killed", message=EVIL, notes=(EVIL,)),
    ]
    write_reports(results, catalog, tmp_path, seed=3, exports=["gradescope"])
    return tmp_path


def test_every_status_has_a_sign_and_words():
    assert set(SIGNS) == set(WORDS) == set(STATUSES)
    assert len(set(SIGNS.values())) == len(SIGNS)


def test_nothing_that_a_student_wrote_is_markup(written):
    for page in written.rglob("*.html"):
        assert "<script" not in page.read_text()


def test_pages_are_self_contained(written):
    for page in written.rglob("*.html"):
        text = page.read_text()
        assert not re.search(r'(src|href)="(https?:)?//', text) and "@import" not in text and "url(" not in text
        assert 'name="viewport"' in text and "prefers-color-scheme:dark" in text and "@media print" in text


def test_the_index_links_to_every_feedback_page(written):
    from urllib.parse import unquote

    links = re.findall(r'href="(feedback/[^"]+)"', (written / "index.html").read_text())
    assert len(links) == 2
    assert all((written / unquote(link)).is_file() for link in links)


def test_feedback_says_what_happened_and_gives_a_hint(written):
    page = next(p for p in (written / "feedback").glob("*.html") if "2 of 8 points" in p.read_text()).read_text()
    assert "A <code>slope</code> is 2 &lt; 3." in page
    assert "only-one" in page and "Run it." in page


def test_csv_cells_are_defused(written):
    rows = list(csv.reader(io.StringIO((written / "grades.csv").read_text())))
    assert rows[0][:5] == ["student", "submission", "score", "max_score", "isolation"]
    assert {"'=1+1", EVIL} == {row[0] for row in rows[1:]}
    assert "'=1+1.ipynb" in {row[1] for row in rows[1:]}
    assert grades_csv([], ["=absent"]).splitlines()[1].startswith("'=absent")


def test_the_gradescope_export(written):
    first = next(p for p in (written / "gradescope").glob("*.json") if "1-1" in p.name)
    data = json.loads(first.read_text())
    assert set(data) == {"score", "output", "execution_time", "tests"}
    assert data["tests"][0] | {"output": ""} == {
        "name": "91-1 One derivative", "score": 2.0, "max_score": 2.0, "status": "passed", "output": "", "visibility": "visible",
    }  # fmt: skip


def test_a_run_without_submissions_has_its_pages(tmp_path, catalog):
    write_reports([], catalog, tmp_path, seed=1)
    assert json.loads((tmp_path / "results.json").read_text()) == []
    assert "No notebook was found" in (tmp_path / "index.html").read_text()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_pages_fit_the_screen(browser, written, scheme, width):
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    errors = []
    page.on("pageerror", lambda error: errors.append(error))
    for path in (written / "index.html", *(written / "feedback").glob("*.html")):
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
    assert not errors


def test_what_was_not_read_is_on_the_page(tmp_path, catalog):
    warning = "the 9 notebooks are all in class"
    write_reports(
        [result("ada", *["passed"] * 4)], catalog, tmp_path, 3, aside=[f"{EVIL}.txt: no notebook"], warnings=[warning]
    )
    page = (tmp_path / "index.html").read_text()
    assert "<h2>Not read</h2>" in page and ".txt: no notebook</li>" in page and EVIL not in page and warning in page
