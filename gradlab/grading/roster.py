"""The class list that an LMS exports, and the same list with the scores filled in, ready to upload."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from pathlib import Path

from gradlab.grading.records import Result

_IDS = (
    "id",
    "student id",
    "sis user id",
    "sis login id",
    "integration id",
    "username",
    "email address",
    "email",
    "identifier",
)
_NAMES = ("student", "full name", "name", "display name")
_GRADES = ("grade", "score")
_CANVAS_FIXED = ("student", "id", "sis user id", "sis login id", "integration id", "section", "root account")
_NEW_COLUMN = "gradlab"


class RosterError(ValueError):
    """The file is no class list that can be read."""


@dataclass
class Roster:
    """A class list as it came: its table, how it was written, and what is odd about it."""

    rows: list[list[str]]
    delimiter: str
    bom: bool
    problems: list[str] = field(default_factory=list)

    @staticmethod
    def read(path: str | Path) -> Roster:
        """Read a Canvas, Moodle or plain CSV, with or without BOM, with commas, semicolons or tabs. RosterError if it is none."""
        content = Path(path).read_bytes()
        bom = content.startswith(b"\xef\xbb\xbf")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("cp1252", "replace")
        first = text.lstrip("\n").split("\n", 1)[0]
        delimiter = max(",;\t", key=first.count)
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if any(row)]
        roster = Roster(rows, delimiter, bom)
        if len(rows) < 2 or not roster._columns((*_IDS, *_NAMES)):
            wanted = ", ".join((*_IDS[:4], *_NAMES[:2]))
            raise RosterError(f"{path}: the first line should name the columns, one of them {wanted}")
        roster._find_repeated()
        return roster

    def aliases(self) -> dict[str, str]:
        """Which student an id or a name means; those that mean two students are left out."""
        found: dict[str, str] = {}
        repeated: set[str] = set()
        for row in self._students():
            for alias in self._aliases_of(row):
                if found.get(alias, self._name(row)) != self._name(row):
                    repeated.add(alias)
                found[alias] = self._name(row)
        return {alias: name for alias, name in found.items() if alias not in repeated}

    def names(self) -> list[str]:
        """Every student, as results name them."""
        return [self._name(row) for row in self._students()]

    def filled(self, results: list[Result]) -> str:
        """The CSV with each student's score in it; who handed nothing in keeps an empty cell."""
        scores = {result.student: result for result in results}
        rows = [list(row) for row in self.rows]
        column = self._grade_column()
        if column is None:
            column = len(rows[0])
            rows[0].append(_NEW_COLUMN)
        for row in rows[1:]:
            row += [""] * (column + 1 - len(row))
            result = scores.get(self._name(row))
            if result is not None and self._is_student(row):
                row[column] = _number(self._scaled(result, row, column))
        out = io.StringIO(newline="")
        writer = csv.writer(out, delimiter=self.delimiter, lineterminator="\r\n")
        writer.writerows([[defused(cell) for cell in row] for row in rows])
        return ("\ufeff" if self.bom else "") + out.getvalue()

    def _header(self) -> list[str]:
        return [cell.strip().casefold() for cell in self.rows[0]]

    def _columns(self, names: tuple[str, ...]) -> list[int]:
        return [self._header().index(name) for name in names if name in self._header()]

    def _students(self) -> list[list[str]]:
        return [row for row in self.rows[1:] if self._is_student(row)]

    def _is_student(self, row: list[str]) -> bool:
        return not row[0].strip().casefold().startswith(("points possible", "manual posting")) and bool(self._name(row))

    def _aliases_of(self, row: list[str]) -> list[str]:
        found = [row[i].strip() for i in self._columns((*_IDS, *_NAMES)) if i < len(row) and row[i].strip()]
        numbers = [match[1] for alias in found if (match := re.match(r"Participant (\d+)$", alias))]
        last_first = [alias.replace(",", "").replace(" ", "").casefold() for alias in found if "," in alias]
        return [*found, *numbers, *last_first, *(alias.split("@")[0] for alias in found if "@" in alias)]

    def _name(self, row: list[str]) -> str:
        """The student's name, with the id where two have the same name."""
        name = next((row[i].strip() for i in self._columns(_NAMES) if i < len(row) and row[i].strip()), "")
        id = next((row[i].strip() for i in self._columns(_IDS) if i < len(row) and row[i].strip()), "")
        return f"{name} ({id})" if name in self._shared_names else name or id

    _shared_names: frozenset[str] = frozenset()

    def _find_repeated(self) -> None:
        names = [self._name(row) for row in self._students()]
        self._shared_names = frozenset(name for name in names if names.count(name) > 1)
        seen: dict[str, str] = {}
        for row in self._students():
            for i in self._columns(_IDS)[:1]:
                id, name = row[i].strip(), self._name(row)
                if id and seen.setdefault(id, name) != name:
                    self.problems.append(f"the roster has the id {id} twice: {seen[id]} and {name}; it decides nothing")

    def _grade_column(self) -> int | None:
        header = self._header()
        moodle = [i for i, name in enumerate(header) if name in _GRADES or name.startswith("grade/")]
        if moodle:
            return moodle[0]
        canvas = [i for i, name in enumerate(header) if re.search(r"\(\d+\)$", name) and name not in _CANVAS_FIXED]
        return canvas[0] if len(canvas) == 1 else header.index(_NEW_COLUMN) if _NEW_COLUMN in header else None

    def _scaled(self, result: Result, row: list[str], column: int) -> float:
        """The score in the LMS's points, where it says how many there are."""
        most = ""
        if "maximum grade" in self._header():
            most = row[self._header().index("maximum grade")]
        for other in self.rows[1:]:
            if other[0].strip().casefold().startswith("points possible") and column < len(other):
                most = other[column]
        try:
            points = float(most.replace(",", "."))
        except ValueError:
            return result.score
        return result.score * points / result.max_score if points > 0 and result.max_score else result.score


def defused(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula; numbers stay numbers.

    >>> defused('=HYPERLINK("x")'), defused("-3.5")
    ('\\'=HYPERLINK("x")', '-3.5')
    """
    if cell.lstrip().startswith(("=", "+", "-", "@")) or cell.startswith(("\t", "\r", "\n")):
        try:
            float(cell)
        except ValueError:
            return "'" + cell
    return cell


def _number(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")
