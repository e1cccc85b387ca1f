"""Forward-mode autograd, which gradlab does not have; its names say so."""

from __future__ import annotations

from typing import Any

_TEXT = "gradlab has no forward-mode autograd; functional.jvp gives Jacobian-vector products by two backward passes."


class dual_level:
    """Refused: NotImplementedError."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise NotImplementedError(_TEXT)


def make_dual(*args: Any, **options: Any) -> Any:
    """Refused: NotImplementedError."""
    raise NotImplementedError(_TEXT)


def unpack_dual(*args: Any, **options: Any) -> Any:
    """Refused: NotImplementedError."""
    raise NotImplementedError(_TEXT)
