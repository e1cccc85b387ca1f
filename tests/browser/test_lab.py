"""`gradlab lab`, as a newcomer meets it: the printed address opens on lesson 01, ready to run, nothing in the way."""

import os
import re
import signal
import subprocess
import sys
import threading

import pytest

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.browser


@pytest.fixture
def address(tmp_path):
    """The address that `gradlab lab --no-browser` prints; it is stopped with Ctrl-C, twice, as it says."""
    code = "import sys; from gradlab.cli import main; sys.exit(main())"
    command = [sys.executable, "-u", "-c", code, "lab", "--no-browser", "--folder", str(tmp_path / "mine")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JUPYTER")}
    process = subprocess.Popen(
        command,
        env=environment | {"HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said = []
    for line in process.stdout:
        said.append(line)
        if found := re.search(r"http://127\.0\.0\.1:\S+", line):
            break
    else:
        pytest.fail("no address: " + "".join(said))
    threading.Thread(target=process.stdout.read, daemon=True).start()
    yield found[0]
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def test_the_first_lesson_is_open_and_runs(address, browser, tmp_path):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address, timeout=120_000)
    heading = page.get_by_role("heading", name="Three attributes")
    expect(heading).to_be_visible(timeout=120_000)
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=120_000)
    in_the_way = page.locator(".jp-Dialog, .Toastify__toast").all_inner_texts()
    assert in_the_way == []  # no question, no advertisement
    page.locator(".jp-CodeCell").first.click()
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".jp-CodeCell .jp-InputPrompt").first).to_have_text("[1]:", timeout=120_000)
    page.screenshot(path=tmp_path / "first.png")
    page.close()
    assert (tmp_path / "mine" / "01_three_attributes.ipynb").is_file()
