"""Exercises that are a table to fill in: every wrong cell gets its own word."""

from __future__ import annotations

import html
from collections import Counter
from typing import Any, ClassVar

from gradlab.exercises._cards import inline
from gradlab.exercises._framework import Exercise, Verdict


class TableExercise(Exercise, abstract=True):
    """A dict to fill in. A subclass says what is true (`truth`) and what a wrong cell means (`word`)."""

    kind: ClassVar[str] = "dict"

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The first declared dict as plain data."""

        def plain(value: Any) -> Any:
            if value is None or type(value) in (bool, int, float, str):
                return value
            if isinstance(value, (list, tuple)):
                return [plain(inner) for inner in value]
            if hasattr(value, "next_functions"):
                return str(value.name())
            if hasattr(value, "tolist"):
                return plain(value.tolist())
            return f"an object of type {type(value).__name__}"

        (table,) = answer.values()
        return {str(key): plain(value) for key, value in table.items()}

    @classmethod
    def truth(cls) -> dict[str, Any]:
        """What each cell should hold, computed."""
        raise NotImplementedError

    @classmethod
    def word(cls, key: str, given: Any, true: Any) -> str | None:
        """The misconception that a wrong cell shows; None where it fits none."""
        return None

    @classmethod
    def meant(cls, given: Any) -> Any:
        """What a cell says, where there are several ways to say it."""
        return given

    @classmethod
    def _wrong_cells(cls, seen: dict[str, Any]) -> dict[str, str | None]:
        cells = {key: (cls.meant(seen[key]), true) for key, true in cls.truth().items()}
        return {key: cls.word(key, given, true) for key, (given, true) in cells.items() if not same(given, true)}

    @classmethod
    def judge(cls, inputs: dict[str, Any], seen: dict[str, Any]) -> Verdict:  # type: ignore[override]
        """Right, or the misconception that most of the wrong cells show."""
        missing = [key for key in cls.truth() if key not in seen]
        if missing:
            return cls.not_right(
                f"`{cls.names[0]}` has no {', '.join(f'`{key}`' for key in missing)}. Keep the keys as given."
            )
        wrong = cls._wrong_cells(seen)
        if not wrong:
            return cls.right(f"All {len(cls.truth())} are right.")
        known = Counter(word for word in wrong.values() if word is not None)
        lines = [f"**{len(wrong)} of {len(cls.truth())} to think again.**"]
        for word in [*known, None]:
            cells = [key for key, found in wrong.items() if found == word]
            if cells:
                says = cls.misconceptions[word] if word else _not_this([(seen[key], cls.truth()[key]) for key in cells])
                lines.append(f"{', '.join(f'`{key}`' for key in cells)}: {says}")
        return Verdict("failed", known.most_common(1)[0][0] if known else None, "\n\n".join(lines))

    @classmethod
    def picture(cls, inputs: dict[str, Any], seen: dict[str, Any]) -> str:  # type: ignore[override]
        """The table with each cell marked."""
        truth = cls.truth()
        if set(truth) <= set(seen) and not cls._wrong_cells(seen):
            return ""
        rows = []
        for key, true in truth.items():
            given = seen.get(key, "...")
            mark = "✓" if same(cls.meant(given), true) else "✗ think again"
            rows.append(f"<tr><td>{inline(f'`{key}`')}</td><td>{html.escape(str(given))}</td><td>{mark}</td></tr>")
        return f"<table><tr><th></th><th>you wrote</th><th></th></tr>{''.join(rows)}</table>"


def _not_this(cells: list[tuple[Any, Any]]) -> str:
    no_bool = all(isinstance(true, bool) and not isinstance(given, bool) for given, true in cells)
    return "`True` or `False` is wanted here, without quotes." if no_bool else "not this."


def same(given: Any, true: Any) -> bool:
    """Whether a cell says what is true, however it is written: "None" is None, 12 is 12.0, case does not count.

    >>> same("none", None), same(12, 12.0), same(0, None), same(True, 1)
    (True, True, False, False)
    """
    if isinstance(true, list):
        return isinstance(given, list) and len(given) == len(true) and all(map(same, given, true))
    if isinstance(given, str):
        given = given.strip()
        if given.lower() == "none":
            given = None
        elif isinstance(true, (int, float)) and not isinstance(true, bool):
            try:
                given = float(given)
            except ValueError:
                return False
    if isinstance(true, bool) or isinstance(given, bool):
        return given is true
    if isinstance(true, (int, float)):
        return isinstance(given, (int, float)) and abs(given - true) <= 1e-4 * max(1.0, abs(true))
    if isinstance(true, str):
        return isinstance(given, str) and _name(given) == _name(true)
    return given is true


def _name(text: str) -> str:
    """Node names without torch's namespace, brackets and address: `<MulBackward0 object at ...>` is MulBackward0."""
    text = text.strip().strip("<>").split(" object")[0]
    return text.split("::")[-1].lower()
