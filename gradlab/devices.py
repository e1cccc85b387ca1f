"""gradlab has one device, the CPU, and says so."""

from __future__ import annotations

from typing import Any


class device:
    """``device("cpu")``; any other device is refused with NotImplementedError.

    >>> import gradlab
    >>> gradlab.device("cpu")
    device(type='cpu')
    """

    __slots__ = ("index", "type")
    index: int | None
    type: str

    def __init__(self, kind: Any = "cpu", index: int | None = None) -> None:
        name = kind.type if isinstance(kind, device) else str(kind)
        if name.split(":")[0] != "cpu":
            raise NotImplementedError(
                f"gradlab runs on the CPU only, so there is no device {name!r}: leave the line out, or write "
                "`device = 'cuda' if torch.cuda.is_available() else 'cpu'` and use .to(device)."
            )
        self.type, self.index = "cpu", index

    def __repr__(self) -> str:
        return "device(type='cpu')"

    def __str__(self) -> str:
        return "cpu"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device)

    def __hash__(self) -> int:
        return hash("cpu")


cpu = device()
