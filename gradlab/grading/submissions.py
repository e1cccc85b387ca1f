"""What was handed in: folders, zips and LMS downloads, read into one submission per student.

Nothing is unpacked to disk and no link is followed, so a path in a zip can lead nowhere. Every file that looks like a
notebook ends up in some submission, with what is wrong with it where something is.
"""

from __future__ import annotations

import io
import os
import re
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gradlab.grading.notebooks import MAX_NOTEBOOK
from gradlab.grading.records import Notebook, Submission

MAX_MEMBERS = 20_000
MAX_UNPACKED = 4 << 30
_SKIPPED = re.compile(r"(^|/)(\.ipynb_checkpoints|__MACOSX|\.git|\.~|\._)")
_DOWNLOADED_AGAIN = re.compile(r"^(.+?)\s*\(\d+\)$")
_NUMBERED = re.compile(r"\s*\((\d+)\)$|(?<=\D)-(\d{1,2})$")
# Moodle: "Ada Lovelace_1234_assignsubmission_file_"; Canvas: "lovelaceada_LATE_1234_5678_06_graph"
_MOODLE = re.compile(r"^(?P<name>.+?)_(?P<id>\d+)_assignsubmission_")
_CANVAS = re.compile(r"^(?P<name>[^_]+)(?:_LATE)?_(?P<id>\d{3,})_\d{3,}(?:_|$)")
_BLACKBOARD = re.compile(r"^.+_(?P<id>[^_]+)_attempt_\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class Handed:
    """One file that was handed in, not read yet: where it is, whose it seems to be, and how new."""

    place: PurePosixPath
    student: str
    time: float
    source: Path | _Member
    problem: str = ""

    def notebook(self) -> Notebook:
        """The file with its bytes."""
        content, problem = b"", self.problem
        if not problem:
            try:
                content = self.source.read_bytes()
            except (OSError, ValueError, zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
                problem = f"it cannot be read ({type(error).__name__})"
            if len(content) > MAX_NOTEBOOK:
                content, problem = b"", f"it is larger than {MAX_NOTEBOOK >> 20} MB"
        return Notebook(str(self.place), content, self.time, problem)


@dataclass(frozen=True)
class _Member:
    """A file in a zip, read only as far as it may be large."""

    archive: _Archive
    info: zipfile.ZipInfo

    def read_bytes(self) -> bytes:
        with self.archive.open() as archive, archive.open(self.info) as stream:
            return stream.read(MAX_NOTEBOOK + 1)


@dataclass(frozen=True)
class _Archive:
    """A zip file on disk, or one inside another."""

    source: Path | _Member

    def open(self) -> zipfile.ZipFile:
        if isinstance(self.source, Path):
            return zipfile.ZipFile(self.source)
        return zipfile.ZipFile(io.BytesIO(self.source.read_bytes()))


@dataclass(frozen=True)
class Student:
    """One student's files, the newest first, still unread."""

    name: str
    files: tuple[Handed, ...]

    def submission(self) -> Submission:
        """The submission, read now."""
        return Submission(self.name, tuple(file.notebook() for file in self.files))


def read_submissions(
    folder: str | Path, skip: Iterable[Path] = (), students: Mapping[str, str] | None = None
) -> list[Student]:
    """The students who handed something in, sorted by name. FileNotFoundError when there is no such place.

    `folder` is a folder, nested folders, one notebook, or a zip; `skip` are folders that are no submissions; `students`
    says which student an id or a name in a path means (a roster knows); without it the path alone decides.
    """
    folder = Path(folder)
    if not folder.exists():
        raise FileNotFoundError(f"{folder} does not exist")
    whole = "" if folder.is_file() else _printable(folder.resolve().name)
    known = {alias.casefold(): name for alias, name in (students or {}).items()}
    by_student: dict[str, list[Handed]] = {}
    for handed in _walk(folder, {path.resolve() for path in skip}, known):
        by_student.setdefault(handed.student, []).append(handed)
    for name in sorted(by_student):
        again = _DOWNLOADED_AGAIN.match(name)
        if again and again[1] in by_student:  # "ada (1).ipynb" beside "ada.ipynb"
            by_student[again[1]] += by_student.pop(name)
    if len(by_student) > 1 and _are_lessons(by_student):
        by_student = {whole or folder.stem: [file for files in by_student.values() for file in files]}
    return [Student(name, tuple(sorted(files, key=_newest_first))) for name, files in sorted(by_student.items())]


def _are_lessons(by_student: dict[str, list[Handed]]) -> bool:
    """True for one person's work: one notebook of each of several lessons (01_..., 06_...), and nothing else."""
    names = [str(file.place) for files in by_student.values() for file in files]
    lessons = [found[1] for name in names if (found := re.match(r"(\d\d)_\w+\.ipynb$", name))]
    return len(lessons) == len(names) == len(set(lessons))


def _newest_first(handed: Handed) -> tuple[float, int, str]:
    number = _NUMBERED.search(handed.place.stem)
    return -handed.time, -int((number[1] or number[2]) if number else 0), str(handed.place)


def _walk(folder: Path, skip: set[Path], known: dict[str, str]) -> Iterator[Handed]:
    if folder.is_file():
        if zipfile.is_zipfile(folder):
            yield from _members(_Archive(folder), PurePosixPath(), known, root=folder.stem)
        else:
            yield _handed(PurePosixPath(_printable(folder.name)), folder.stat().st_mtime, folder, known)
        return
    for path in _files(folder, skip):
        place = PurePosixPath(*(_printable(part) for part in path.relative_to(folder).parts))
        if _SKIPPED.search(str(place)):
            continue
        if path.suffix.lower() == ".ipynb":
            if path.is_symlink() or not path.is_file():
                yield _handed(place, 0.0, path, known, "it is a link or no regular file, which is not followed")
            else:
                yield _handed(place, path.stat().st_mtime, path, known)
        elif path.suffix.lower() == ".zip" and not path.is_symlink():
            yield from _members(_Archive(path), place, known)


def _files(folder: Path, skip: set[Path]) -> Iterator[Path]:
    for top, folders, files in os.walk(folder):
        here = Path(top)
        folders[:] = sorted(name for name in folders if (here / name).resolve() not in skip)
        for name in sorted([*files, *(name for name in folders if (here / name).is_symlink())]):
            yield here / name


def _members(
    archive: _Archive, place: PurePosixPath, known: dict[str, str], root: str = "", depth: int = 0
) -> Iterator[Handed]:
    """The notebooks in a zip, and in the zips in it."""
    outer = place.with_suffix("") if place.parts else place
    try:
        with archive.open() as opened:
            infos = [info for info in opened.infolist() if not info.is_dir()]
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError):
        yield _handed(place, 0.0, Path(), known, "the zip cannot be read")
        return
    if len(infos) > MAX_MEMBERS or sum(info.file_size for info in infos) > MAX_UNPACKED:
        yield _handed(place, 0.0, Path(), known, "the zip unpacks to more than is read")
        return
    for info in sorted(infos, key=lambda info: info.filename):
        parts = [
            _printable(part)
            for part in PurePosixPath(info.filename.replace("\\", "/")).parts
            if part not in ("..", "/", ".")
        ]
        if parts and not place.parts and len(parts) > 1 and parts[0] in (root, "submissions", "submitted"):
            parts = parts[1:]
        if not parts or _SKIPPED.search("/".join(parts)):
            continue
        inner = outer.joinpath(*parts)
        member = _Member(archive, info)
        if inner.suffix.lower() == ".ipynb":
            problem = f"it is larger than {MAX_NOTEBOOK >> 20} MB" if info.file_size > MAX_NOTEBOOK else ""
            yield _handed(inner, _zip_time(info), member, known, problem)
        elif inner.suffix.lower() == ".zip" and depth < 2 and info.file_size <= MAX_NOTEBOOK:
            yield from _members(_Archive(member), inner, known, depth=depth + 1)


def _zip_time(info: zipfile.ZipInfo) -> float:
    try:
        return time.mktime((*info.date_time, 0, 0, -1))
    except (ValueError, OverflowError):
        return 0.0


def _handed(
    place: PurePosixPath, when: float, source: Path | _Member, known: dict[str, str], problem: str = ""
) -> Handed:
    return Handed(place, _student(place, known), when, source, problem)


def _student(place: PurePosixPath, known: dict[str, str]) -> str:
    """Whose file this is, by its path: a known id or name anywhere in it, an LMS's pattern, its folder, or its own name."""
    parts = [*place.parts[:-1], place.stem]
    for part in parts:
        if part.casefold() in known:
            return known[part.casefold()]
    for part in parts:
        for pattern in (_MOODLE, _CANVAS, _BLACKBOARD):
            found = pattern.match(part)
            if found:
                name, id = found.groupdict().get("name"), found["id"]
                aliases = [alias.casefold() for alias in (id, name) if alias]
                whose = next((known[alias] for alias in aliases if alias in known), None)
                return whose or (f"{name} ({id})" if name else id)
    for word in (word.casefold() for part in parts for word in re.split(r"[_@ ]", part)):
        if len(word) > 2 and word in known:
            return known[word]
    return parts[0]


def _printable(name: str) -> str:
    """A file's name as text that can be written anywhere: no surrogates, no control characters."""
    name = name.encode("utf-8", "replace").decode()
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)
