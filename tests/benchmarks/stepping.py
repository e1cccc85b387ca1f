"""How long a step of the player takes in a real browser: `python tests/benchmarks/stepping.py` (needs chromium)."""

from __future__ import annotations

import shutil
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from playwright.sync_api import sync_playwright

from gradlab.drawing import player, record
from tests.browser.fixtures import CHROMIUM_FLAGS, CHROMIUM_NAMES

OPERATIONS = 500
STEPS = 60
MEASURE = """async (steps) => {
    const next = document.querySelector(".gl-main-button"), svg = document.querySelector(".gl svg");
    const painted = () => new Promise((done) => requestAnimationFrame(() => {
        const channel = new MessageChannel();  // its message comes after the frame was painted
        channel.port1.onmessage = done;
        channel.port2.postMessage(0);
    }));
    const scripts = [], whole = [];
    for (let i = 0; i < steps; i++) {
        await painted();
        const start = performance.now();
        next.click();
        svg.getBoundingClientRect();
        scripts.push(performance.now() - start);
        await painted();
        whole.push(performance.now() - start);
    }
    return [scripts, whole];
}"""


def page() -> str:
    y = torch.tensor(1.0, requires_grad=True)
    for _ in range(OPERATIONS // 2):
        y = y.sin() * 1.01
    return player.page(player.of_recording(record(y), fold=False))


def main() -> None:
    torch.set_num_threads(1)
    path = next(filter(None, map(shutil.which, CHROMIUM_NAMES)))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(CHROMIUM_FLAGS))
        tab = browser.new_page()
        tab.set_content(page())
        tab.evaluate(MEASURE, 5)
        scripts, whole = tab.evaluate(MEASURE, STEPS)
        boxes = tab.locator("g.node").count()
        browser.close()
    for what, times in (("script and layout", scripts), ("until it is painted", whole)):
        print(
            f"a step with {boxes} boxes, {what}: median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms (< 50)"
        )


if __name__ == "__main__":
    main()
