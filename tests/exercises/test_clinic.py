"""Lesson 12's clinic: each loop is really broken at the line that the exercise names, and mending that line mends it."""

from __future__ import annotations

import pytest

from gradlab.exercises import lesson_12

torch = pytest.importorskip("torch")


def run(lines: list[str], columns: bool) -> dict[str, object]:
    """The loop over forty batches of an exact linear relation; its namespace, or the name of what it raises."""
    torch.manual_seed(0)
    truth = torch.tensor([[1.0], [-2.0], [0.5]])
    xs = [torch.randn(8, 3) for _ in range(40)]
    data = [(x, x @ truth if columns else (x @ truth)[:, 0]) for x in xs]
    namespace: dict[str, object] = {"torch": torch, "data": data}
    try:
        exec("\n".join(lines), namespace)
    except (RuntimeError, TypeError) as error:
        return {"raised": type(error).__name__}
    weight = namespace["w"] if "w" in namespace else next(namespace["model"].parameters())  # type: ignore[attr-defined]
    return namespace | {"near": bool((weight.detach().reshape(-1, 1) - truth).abs().max() < 0.3)}  # type: ignore[union-attr]


@pytest.mark.parametrize("name", lesson_12._LOOPS)
def test_a_loop_is_broken_and_one_line_mends_it(name: str) -> None:
    lines, number, mended, cause = lesson_12._LOOPS[name]
    columns = "(N,)" not in "\n".join(lines)
    broken = run(lines, columns)
    if cause == "graph kept":
        assert broken["total"].grad_fn is not None  # type: ignore[attr-defined]
    else:
        assert not broken.get("near", False)
    repaired = lines[: number - 1] + ([mended] if mended else []) + lines[number:]
    if cause == "thrown away":  # the line moves to where it belongs
        repaired.insert(3, lines[number - 1])
    after = run(repaired, columns)
    assert after["near"]
    assert not hasattr(after.get("total"), "grad_fn")
