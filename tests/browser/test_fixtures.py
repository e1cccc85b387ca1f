"""The tools of the browser tests do what they say, in JupyterLab and in Notebook 7."""

import nbformat
import pytest

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.browser


def small_notebook():
    new = nbformat.v4
    cells = [
        new.new_markdown_cell("# Title"),
        new.new_code_cell("x = 6 * 7\nprint(x)"),
        new.new_code_cell("answer = ...", metadata={"gradlab": {"exercise": "99-1"}}),
        new.new_code_cell("1 / 0"),
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return new.new_notebook(cells=cells, metadata=kernel)


@pytest.mark.parametrize(("app", "theme"), [("lab", "light"), ("notebook", "dark")])
def test_a_notebook_opens_runs_is_rewritten_and_lists_its_errors(open_notebook, app, theme):
    notebook = open_notebook(small_notebook(), app=app, theme=theme)
    assert notebook.kinds == ["markdown", "code", "code", "code"]
    assert notebook.page.locator("body").get_attribute("data-jp-theme-light") == str(theme == "light").lower()
    notebook.run(1)
    expect(notebook.output(1)).to_have_text("42")

    number = notebook.find("exercise", "99-1")
    notebook.write(number, "answer = 1\nprint('answered', answer)")
    notebook.run(number)
    expect(notebook.output(number)).to_contain_text("answered 1")

    notebook.run_all()
    assert notebook.errors() == ["cell 3: ZeroDivisionError: division by zero"]
