"""``gradlab lab --check``: the server really comes up, and the lesson really runs in it, with nobody there."""

import json
import os
import queue
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from gradlab.cli._lessons import LessonsError, lesson_name, lessons_folder, working_copy
from gradlab.cli.lab import prepare_environment, server_arguments

UP_SECONDS = 120
CELL_SECONDS = 300


def check_lab(lesson: str, folder: Path | None, port: int | None) -> int:
    """Start JupyterLab over a working copy, run the lesson in a kernel of it, print how it went; 0 if all is well."""
    source = lessons_folder()
    notebook = lesson_name(source, lesson)
    prepare_environment()
    with tempfile.TemporaryDirectory(prefix="gradlab-check-") as scratch:
        home = Path(scratch)
        folder = folder.expanduser().resolve() if folder else home / "lessons"
        working_copy(source, folder)
        server = Server(folder, notebook, port or free_port(), home)
        try:
            server.wait()
            print(f"JupyterLab is up and shows {notebook}")
            cells, seconds = server.run_notebook(notebook)
        finally:
            server.stop()
    print(f"{notebook}: {cells} code cells ran in {seconds:.0f} s without an error")
    return 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A JupyterLab server of our own, whose settings and runtime files lie in `home`."""

    def __init__(self, folder: Path, notebook: str, port: int, home: Path):
        self.folder = folder
        self.page = f"/lab/tree/{notebook}"
        self.url = f"http://127.0.0.1:{port}"
        self.token = secrets.token_hex(16)
        self.runtime = home / "runtime"
        self.log = home / "server.log"
        environment = os.environ | {
            "JUPYTER_RUNTIME_DIR": str(self.runtime),
            "JUPYTER_CONFIG_DIR": str(home / "config"),
            "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
            "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        }
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", f"--IdentityProvider.token={self.token}"]
        command += server_arguments(folder, notebook, port)
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def ask(self, path: str, data: dict[str, Any] | None = None) -> bytes:
        """GET, or POST `data`; the answer's body."""
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"token {self.token}"})
        if data is not None:
            request.data = json.dumps(data).encode()
            request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def wait(self) -> None:
        """Until the lesson's page is served."""
        end = time.monotonic() + UP_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.ask(self.page)
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        raise LessonsError(f"JupyterLab did not come up. The end of its log:\n{self.log.read_text()[-2000:]}")

    def run_notebook(self, notebook: str) -> tuple[int, float]:
        """Run every code cell in a kernel that the server starts; the number of cells and the seconds."""
        from jupyter_client.blocking.client import BlockingKernelClient

        session = {"path": notebook, "name": notebook, "type": "notebook", "kernel": {"name": "python3"}}
        kernel = json.loads(self.ask("/api/sessions", session))["kernel"]["id"]
        content = json.loads(self.ask(f"/api/contents/{notebook}?content=1"))["content"]
        client = BlockingKernelClient(connection_file=str(self.runtime / f"kernel-{kernel}.json"))
        client.load_connection_file()
        client.start_channels()
        start = time.monotonic()
        try:
            client.wait_for_ready(timeout=UP_SECONDS)
            cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
            for number, cell in enumerate(cells, 1):
                run_cell(client, cell, f"{notebook}, code cell {number}")
        finally:
            client.stop_channels()
        return len(cells), time.monotonic() - start

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def run_cell(client: Any, cell: dict[str, Any], where: str) -> None:
    """Raises LessonsError if the cell raises, is not run, or takes too long."""
    source = "".join(cell["source"])
    try:
        reply = client.execute_interactive(source, allow_stdin=False, timeout=CELL_SECONDS, output_hook=lambda _: None)
    except (queue.Empty, TimeoutError):
        raise LessonsError(f"{where} did not end within {CELL_SECONDS} s:\n{source}") from None
    content = reply["content"]
    if content["status"] != "ok":
        error = f"{content.get('ename', content['status'])}: {content.get('evalue', '')}"
        raise LessonsError(f"{where} raised {error}\n{source}")
