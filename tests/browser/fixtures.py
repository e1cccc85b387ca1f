"""A real JupyterLab (with Notebook 7 beside it) and a real Chromium, driven as a person would.

`open_notebook(notebook, app="lab", theme="light")` opens a notebook and returns a `NotebookPage`.
"""

import contextlib
import itertools
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
URLS = {"lab": "lab/workspaces/{folder}/tree/", "notebook": "notebooks/"}  # a workspace each: nothing is restored
SETTINGS = {
    "notebook-extension/tracker": '{"windowingMode": "none"}',  # cells out of sight stay in the page
    "apputils-extension/notification": '{"fetchNews": "false", "checkForUpdates": false}',
}


class JupyterServer:
    """A server over `root`, with a home of its own, so that nobody's settings reach the tests."""

    def __init__(self, root: Path, home: Path):
        self.root = root
        self.token = secrets.token_hex(16)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/"
        self.log = home / "server.log"
        for name, text in SETTINGS.items():
            path = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("JUPYTER")}
        environment |= {
            "HOME": str(home),
            "JUPYTER_CONFIG_DIR": str(home / "config"),
            "JUPYTER_DATA_DIR": str(home / "data"),
            "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
            "IPYTHONDIR": str(home / "ipython"),
            "JUPYTER_PREFER_ENV_PATH": "1",
        }
        command = [
            sys.executable,
            "-m",
            "jupyterlab",
            "--no-browser",
            "--allow-root",
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={root}",
            f"--IdentityProvider.token={self.token}",
            "--LabApp.expose_app_in_browser=True",
            "--JupyterNotebookApp.expose_app_in_browser=True",
        ]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def wait(self, seconds: float = 120) -> None:
        """Until the server answers."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            with contextlib.suppress(urllib.error.URLError, OSError):
                urllib.request.urlopen(f"{self.url}api", timeout=5).read()
                return
            time.sleep(0.2)
        raise RuntimeError(f"JupyterLab did not come up; its log says:\n{self.log.read_text()[-3000:]}")

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class NotebookPage:
    """One open notebook. Cells are numbered from 0, Markdown cells included, as in the file."""

    def __init__(self, page):
        self.page = page

    def ready(self, seconds: float = 120) -> None:
        """Until the application, the notebook and its kernel are."""
        self.page.wait_for_function("() => window.jupyterapp", timeout=seconds * 1000)
        self.page.evaluate(
            """async (seconds) => {
                const app = window.jupyterapp;
                await app.restored;
                const end = Date.now() + 1000 * seconds;
                const pause = () => new Promise(done => setTimeout(done, 100));
                const notebook = () => {
                    const widget = app.shell.currentWidget;
                    return widget && widget.content && widget.content.widgets && widget.sessionContext ? widget : null;
                };
                while (!notebook() && Date.now() < end) await pause();
                const panel = notebook();
                if (!panel) throw new Error("no notebook opened");
                await panel.context.ready;
                await panel.sessionContext.ready;
                const kernel = () => panel.sessionContext.session && panel.sessionContext.session.kernel;
                while (!(kernel() && kernel().status === "idle") && Date.now() < end) await pause();
                if (!kernel() || kernel().status !== "idle") throw new Error("the kernel is not idle");
                window.gradlabPanel = panel;
            }""",
            seconds,
        )

    @property
    def kinds(self) -> list[str]:
        """'code' or 'markdown', cell by cell."""
        return self.page.evaluate("() => window.gradlabPanel.content.widgets.map(cell => cell.model.type)")

    @property
    def sources(self) -> list[str]:
        return self.page.evaluate(
            "() => window.gradlabPanel.content.widgets.map(cell => cell.model.sharedModel.getSource())"
        )

    @property
    def metadata(self) -> list[dict]:
        """The cells' metadata, such as {"gradlab": {"exercise": "06-3"}}."""
        return self.page.evaluate(
            "() => window.gradlabPanel.content.widgets.map(cell => cell.model.sharedModel.getMetadata())"
        )

    def find(self, kind: str, exercise: str) -> int:
        """The number of the cell with metadata {"gradlab": {kind: exercise}}."""
        for number, metadata in enumerate(self.metadata):
            if metadata.get("gradlab", {}).get(kind) == exercise:
                return number
        raise LookupError(f"no cell with gradlab metadata {kind}={exercise!r}")

    def write(self, number: int, source: str) -> None:
        """Replace a cell's source."""
        self.page.evaluate(
            "([number, source]) => window.gradlabPanel.content.widgets[number].model.sharedModel.setSource(source)",
            [number, source],
        )

    def run(self, number: int, seconds: float = 120) -> None:
        """Run one cell and wait until it has run."""
        self._execute("notebook:run-cell", number, seconds)

    def run_all(self, seconds: float = 300) -> None:
        self._execute("notebook:run-all-cells", 0, seconds)

    def _execute(self, command: str, number: int, seconds: float) -> None:
        self.page.set_default_timeout(seconds * 1000)
        self.page.evaluate(
            """async ([command, number, seconds]) => {
                const panel = window.gradlabPanel;
                panel.content.activeCellIndex = number;
                panel.content.deselectAll();
                const late = new Promise((_, fail) => setTimeout(fail, 1000 * seconds, new Error("too late")));
                await Promise.race([window.jupyterapp.commands.execute(command), late]);
                const kernel = panel.sessionContext.session.kernel;
                const pause = () => new Promise(done => setTimeout(done, 50));
                const drawn = ({outputArea}) => !outputArea || outputArea.widgets.length >= outputArea.model.length;
                while (kernel.status !== "idle" || !panel.content.widgets.every(drawn)) await pause();
            }""",
            [command, number, seconds],
        )

    def cell(self, number: int):
        """The cell's element (a Playwright locator)."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)

    def output(self, number: int):
        """The element that holds the cell's outputs. They may still be drawing: `playwright.sync_api.expect` waits."""
        return self.cell(number).locator(".jp-OutputArea").first

    def outputs(self, number: int) -> list[dict]:
        """The cell's outputs as they would be saved (nbformat)."""
        return self.page.evaluate(
            "(number) => window.gradlabPanel.content.widgets[number].model.sharedModel.getOutputs()", number
        )

    def errors(self) -> list[str]:
        """'cell 7: ValueError: ...' for each cell that raised."""
        found = []
        for number, kind in enumerate(self.kinds):
            for output in self.outputs(number) if kind == "code" else ():
                if output["output_type"] == "error":
                    found.append(f"cell {number}: {output['ename']}: {output['evalue']}")
        return found

    def scroll_to(self, number: int) -> None:
        self.cell(number).scroll_into_view_if_needed()

    def save(self) -> None:
        self.page.evaluate("() => window.gradlabPanel.context.save()")

    def theme(self, name: str) -> None:
        """'light' or 'dark'."""
        self.page.evaluate(
            "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", THEMES[name]
        )
        light = "true" if name == "light" else "false"
        self.page.wait_for_selector(f'body[data-jp-theme-light="{light}"]', state="attached")


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium; the test is skipped where there is none (under CI=true that is a failure)."""
    path = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(CHROMIUM_NAMES)} is on PATH (Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install playwright")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=list(CHROMIUM_FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory):
    """One server for the whole run; JupyterLab at `lab/`, Notebook 7 at `notebooks/`."""
    pytest.importorskip("jupyterlab", reason='no JupyterLab: pip install "gradlab[lab]"')
    server = JupyterServer(tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("home"))
    try:
        server.wait()
        yield server
    finally:
        server.stop()


@pytest.fixture
def open_notebook(browser, jupyter):
    """A function `open_notebook(notebook, app="lab", theme="light", width=1280, height=900, scale=1) -> NotebookPage`.

    `notebook` is an nbformat notebook or the path of one; a copy of it is opened, with the folder `images`
    beside it if there is one, in a folder of its own. `scale` is the screen's: 2 for sharp screenshots.
    """
    nbformat = pytest.importorskip("nbformat")
    contexts = []
    numbers = itertools.count()

    def opened(
        notebook, app: str = "lab", theme: str = "light", width: int = 1280, height: int = 900, scale: float = 1
    ) -> NotebookPage:
        folder = jupyter.root / f"{secrets.token_hex(4)}-{next(numbers)}"
        folder.mkdir()
        name = "notebook.ipynb"
        if isinstance(notebook, str | os.PathLike):
            name = re.sub(r"[^\w.-]", "_", Path(notebook).name)
            shutil.copyfile(notebook, folder / name)
            images = Path(notebook).parent / "images"
            if images.is_dir():
                shutil.copytree(images, folder / "images")
        else:
            nbformat.write(notebook, folder / name)
        size = {"width": width, "height": height}
        context = browser.new_context(viewport=size, color_scheme=theme, device_scale_factor=scale)
        contexts.append(context)
        page = context.new_page()
        path = f"{URLS[app].format(folder=folder.name)}{folder.name}/{name}"
        page.goto(f"{jupyter.url}{path}?token={jupyter.token}", timeout=120_000)
        result = NotebookPage(page)
        result.ready()
        result.theme(theme)
        return result

    yield opened
    for context in contexts:
        for page in context.pages:
            with contextlib.suppress(Exception):
                page.evaluate("() => window.gradlabPanel && window.gradlabPanel.sessionContext.shutdown()")
        context.close()
