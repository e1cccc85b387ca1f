"""Makes the README's pictures of the player: `python .github/make_pictures.py` (needs chromium and playwright)."""

import shutil
import struct
import tempfile
import zlib
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright

import gradlab

HERE = Path(__file__).resolve().parent
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def page() -> str:
    w = torch.nn.Parameter(torch.tensor(2.0))
    x, b = torch.tensor(3.0), torch.tensor(-4.0, requires_grad=True)
    loss = (w * x + b) ** 2
    return gradlab.record(loss).to_html()


def frames(html: str, scheme: str, steps: int) -> list[bytes]:
    """Screenshots of the player before the first step and after each."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        (Path(folder) / "page.html").write_text(html, encoding="utf-8")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(viewport={"width": 960, "height": 560}, color_scheme=scheme, device_scale_factor=1.25)
        tab.goto((Path(folder) / "page.html").as_uri())
        box, shots = tab.locator(".gl"), []
        for step in range(steps + 1):
            if step:
                tab.get_by_role("button", name="one step on").click()
            tab.wait_for_timeout(300)
            frame = box.bounding_box()
            frame["height"] = tab.locator(".gl-side").bounding_box()["y"] - frame["y"]
            shots.append(tab.screenshot(clip=frame))
        browser.close()
    return shots


def chunks(png: bytes) -> list[tuple[bytes, bytes]]:
    found, place = [], len(SIGNATURE)
    while place < len(png):
        (size,) = struct.unpack(">I", png[place : place + 4])
        found.append((png[place + 4 : place + 8], png[place + 8 : place + 8 + size]))
        place += size + 12
    return found


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def animated(shots: list[bytes], seconds: float) -> bytes:
    """PNGs of one size as an animated PNG that runs for ever (W3C PNG, third edition)."""
    header = next(data for kind, data in chunks(shots[0]) if kind == b"IHDR")
    width, height = struct.unpack(">II", header[:8])
    made = [SIGNATURE, chunk(b"IHDR", header), chunk(b"acTL", struct.pack(">II", len(shots), 0))]
    number = 0
    for place, shot in enumerate(shots):
        wait = int(1000 * seconds * (2 if place in (0, len(shots) - 1) else 1))
        control = struct.pack(">IIIIIHHBB", number, width, height, 0, 0, wait, 1000, 0, 0)
        made.append(chunk(b"fcTL", control))
        number += 1
        for data in (data for kind, data in chunks(shot) if kind == b"IDAT"):
            if place == 0:
                made.append(chunk(b"IDAT", data))
            else:
                made.append(chunk(b"fdAT", struct.pack(">I", number) + data))
                number += 1
    return b"".join([*made, chunk(b"IEND", b"")])


def main() -> None:
    html = page()
    (HERE / "backward.png").write_bytes(animated(frames(html, "light", 5), 1.6))
    (HERE / "explore-dark.png").write_bytes(frames(html, "dark", 4)[-1])


if __name__ == "__main__":
    main()
