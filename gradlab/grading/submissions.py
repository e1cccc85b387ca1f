"""What was handed in: folders, zips and LMS downloads, read into one submission per student.

Nothing is unpacked to disk and no link is followed, so a path in a zip can lead nowhere. Every file ends up somewhere: a
notebook in a student's submission, with what is wrong with it where something is; any other file in the submission of a
student who handed in nothing else, in a note, or on the list of what was not read.
"""

from __future__ import annotations

import io
import os
import re
import stat
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath

from gradlab.grading.notebooks import MAX_NOTEBOOK, looks_like
from gradlab.grading.records import Notebook, Submission

MAX_MEMBERS = 20_000  # notebooks and zips in one zip
MAX_LISTED = 1_000_000  # files of any kind in it
MAX_UNPACKED = 4 << 30
_SKIPPED = re.compile(r"(^|/)(\.ipynb_checkpoints|__MACOSX|__pycache__|node_modules|\.venv|\.git|\.~|\._)")
_JUNK = re.compile(r"(^|/)(\.|Thumbs\.db$|desktop\.ini$|~\$)")
_DOWNLOADED_AGAIN = re.compile(r"^(.+?)\s*\(\d+\)$")
_NUMBERED = re.compile(r"\s*\((\d+)\)$|(?<=\D)-(\d{1,2})$")
# "ada.ipynb", and what browsers and mail programs make of it: "ada.ipynb.txt", "ada.ipynb (1)"
_NOTEBOOK = re.compile(r"\.ipynb(\.(txt|json|download))?(\s*\(\d+\))?$", re.IGNORECASE)
_MAYBE_NOTEBOOK = ("", ".json", ".txt", ".zip")  # by its content
# Moodle: "Ada Lovelace_1234_assignsubmission_file_"; Canvas: "lovelaceada_LATE_1234_5678_06_graph"
_MOODLE = re.compile(r"^(?P<name>.+?)_(?P<id>\d+)_assignsubmission_")
_CANVAS = re.compile(r"^(?P<name>[^_]+)(?:_LATE)?_(?P<id>\d{3,})_\d{3,}(?:_|$)")
_BLACKBOARD = re.compile(r"^.+_(?P<id>[^_]+)_attempt_\d{4}-\d\d-\d\d")
# What a student may have meant as the answer.
_WORK = {
    ".py": "a Python file",
    ".html": "a web page",
    ".htm": "a web page",
    ".pdf": "a PDF",
    ".doc": "a Word document",
    ".docx": "a Word document",
    ".odt": "a text document",
    ".rtf": "a text document",
    ".pages": "a text document",
    ".rmd": "an R Markdown file",
    ".qmd": "a Quarto file",
    ".r": "an R file",
    ".jl": "a Julia file",
    **dict.fromkeys((".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".zst"), "an archive that is no zip"),
}
_NO_NOTEBOOK = "and only notebooks (.ipynb) are graded"
_NAMED = 3  # so many files are named in a sentence


@dataclass(frozen=True)
class Handed:
    """One file that was handed in, not read yet: where it is, whose it seems to be, and how new.

    `sure` when the roster or an LMS's pattern says whose it is; `is_notebook` is False for what is none, with `problem`
    saying what it is; `is_copy` is for Jupyter's own copy of a notebook, `is_folder` for a folder that gives nothing.
    """

    place: PurePosixPath
    student: str
    time: float
    source: Path | _Member
    problem: str = ""
    sure: bool = False
    is_notebook: bool = True
    is_copy: bool = False
    is_folder: bool = False

    def notebook(self) -> Notebook:
        """The file with its bytes."""
        content, problem = b"", self.problem
        if not problem:
            try:
                content = self.source.read_bytes()
            except Exception as error:  # a broken zip raises what its packing raises: zlib.error, LZMAError, ...
                problem = _why(error)
            if len(content) > MAX_NOTEBOOK:
                content, problem = b"", f"it is larger than {MAX_NOTEBOOK >> 20} MB"
        return Notebook(str(self.place), content, self.time, problem)

    @property
    def is_nested(self) -> bool:
        """True for what is in a folder, and for a folder."""
        return len(self.place.parts) > 1 or self.is_folder

    @property
    def is_work(self) -> bool:
        """True for a file that a student may have meant as the answer, by its ending."""
        return self.is_notebook or self.place.suffix.lower() in _WORK


def _why(error: Exception) -> str:
    if isinstance(error, PermissionError):
        return "there is no permission to read it; change that (chmod -R u+rX), then grade again"
    if isinstance(error, RuntimeError) and "password" in str(error):
        return "it is in a zip with a password; ask for one without"
    if isinstance(error, OSError):
        return f"it cannot be read ({error.strerror or type(error).__name__})"
    return "the zip that it is in is damaged, or packed in a way that is not known here"


@dataclass(frozen=True)
class _Member:
    """A file in a zip, read only as far as it may be large."""

    archive: _Archive
    info: zipfile.ZipInfo

    def read_bytes(self, most: int = MAX_NOTEBOOK + 1) -> bytes:
        with _opened(self.archive).open(self.info) as stream:
            return stream.read(min(most, MAX_NOTEBOOK + 1))


@dataclass(frozen=True, eq=False)
class _Archive:
    """A zip file on disk, or one inside another."""

    source: Path | _Member


@lru_cache(2)  # a class's zip is read member by member, and its list of members takes long
def _opened(archive: _Archive) -> zipfile.ZipFile:
    if isinstance(archive.source, Path):
        return zipfile.ZipFile(archive.source)
    return zipfile.ZipFile(io.BytesIO(archive.source.read_bytes()))


@dataclass(frozen=True)
class Student:
    """One student's files, the newest first, still unread."""

    name: str
    files: tuple[Handed, ...]
    notes: tuple[str, ...] = ()

    def submission(self) -> Submission:
        """The submission, read now."""
        return Submission(self.name, tuple(file.notebook() for file in self.files), self.notes)

    @property
    def without_notebook(self) -> bool:
        """True for a student who handed in something, but no notebook."""
        return not any(file.is_notebook for file in self.files)


@dataclass(frozen=True)
class Found:
    """What is in a folder: the students, sorted by name; what was not read, in words; what the teacher should know."""

    students: list[Student]
    aside: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_submissions(
    folder: str | Path, skip: Iterable[Path] = (), students: Mapping[str, str] | None = None
) -> list[Student]:
    """The students who handed something in, sorted by name. FileNotFoundError when there is no such place.

    `folder` is a folder, nested folders, one notebook, or a zip; `skip` are folders that are no submissions; `students`
    says which student an id or a name in a path means (a roster knows); without it the path alone decides.
    """
    return look_through(folder, skip, students).students


def look_through(folder: str | Path, skip: Iterable[Path] = (), students: Mapping[str, str] | None = None) -> Found:
    """The students, as `read_submissions` gives them, with what there is beside their notebooks."""
    folder = Path(folder)
    if not folder.exists():
        raise FileNotFoundError(f"{folder} does not exist")
    whole = "" if folder.is_file() else _printable(folder.resolve().name)
    known = {alias.casefold(): name for alias, name in (students or {}).items()}
    notebooks: list[Handed] = []
    others: list[Handed] = []
    for handed in _walk(folder, {path.resolve() for path in skip}, known):
        (notebooks if handed.is_notebook else others).append(handed)
    by_student: dict[str, list[Handed]] = {}
    for handed in notebooks:
        by_student.setdefault(handed.student, []).append(handed)
    for name in sorted(by_student):
        again = _DOWNLOADED_AGAIN.match(name)
        if again and again[1] in by_student:  # "ada (1).ipynb" beside "ada.ipynb"
            by_student[again[1]] += by_student.pop(name)
    layouts = {handed.is_nested for handed in notebooks}  # a folder a student, or a file a student, or both
    if len(by_student) > 1 and _are_lessons(by_student):
        by_student = {whole or folder.stem: [file for files in by_student.values() for file in files]}
        layouts = set()
    elif not notebooks:
        layouts = {True, False}
    beside: dict[str, list[Handed]] = {}
    nobodys: list[Handed] = []
    for handed in others:
        has_place = handed.is_nested or handed.is_work or folder.is_file()
        if handed.sure or handed.student in by_student or (has_place and handed.is_nested in layouts):
            beside.setdefault(handed.student, []).append(handed)
        elif not handed.is_copy:
            nobodys.append(handed)
    found = [_student_of(name, files, beside.get(name, [])) for name, files in by_student.items()]
    found += [_student_of(name, [], files) for name, files in beside.items() if name not in by_student]
    left = [[f for f in beside[name] if not (f.is_work or f.is_copy)] for name in sorted(by_student) if name in beside]
    aside = [_aside(files) for files in (nobodys, *left) if files]
    return Found(sorted(found, key=lambda student: student.name), aside, _warnings(folder, by_student, notebooks))


def _student_of(name: str, notebooks: list[Handed], others: list[Handed]) -> Student:
    """A student with notebooks, or one whose files are all something else: then these are what was handed in."""
    if notebooks:
        work = [str(handed.place) for handed in others if handed.is_work and not handed.is_copy]
        notes = (f"Not graded, since only notebooks are: {_listed(work)}.",) if work else ()
        return Student(name, tuple(sorted(notebooks, key=_newest_first)), notes)
    files = sorted(others, key=lambda handed: (not handed.is_work, handed.is_copy, str(handed.place)))
    more = f"{len(files) - _NAMED} more files, none of them a notebook."
    return Student(name, tuple(files[:_NAMED]), (more,) if len(files) > _NAMED else ())


def _aside(others: list[Handed]) -> str:
    """What is in nobody's result: "notes.txt, data/a.csv and 3 more: no notebooks"."""
    reasons = sorted({handed.problem for handed in others if not handed.problem.endswith(_NO_NOTEBOOK)})
    none = [handed for handed in others if handed.problem.endswith(_NO_NOTEBOOK)]
    why = "; ".join([*(["no notebook" if len(others) == 1 else "no notebooks"] if none else []), *reasons[:_NAMED]])
    return f"{_listed([str(handed.place) for handed in others])}: {why}"


def _listed(names: list[str]) -> str:
    """
    >>> _listed(["a", "b"]), _listed(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    more = len(names) - _NAMED
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:_NAMED])} and {more} more"


def _warnings(folder: Path, by_student: dict[str, list[Handed]], notebooks: list[Handed]) -> list[str]:
    """A class in one folder inside the folder: its notebooks would all be one student's."""
    tops = {handed.place.parts[0] if handed.is_nested else "" for handed in notebooks}
    if len(notebooks) < 2 or len(by_student) > 1 or len(tops) > 1 or "" in tops or any(h.sure for h in notebooks):
        return []
    (top,) = tops
    inner = folder / top if (folder / top).exists() else folder / f"{top}.zip"
    where = f"unpack it and grade its folder {top}" if folder.is_file() else f"grade {inner}"
    words = f"the {len(notebooks)} notebooks are all in {top}, so they were taken for one student's"
    return [f"{words}. If they are a whole class's, {where}"]


def _are_lessons(by_student: dict[str, list[Handed]]) -> bool:
    """True for one person's work: one notebook of each of several lessons (01_..., 06_...), and nothing else."""
    names = [str(file.place) for files in by_student.values() for file in files]
    lessons = [found[1] for name in names if (found := re.match(r"(\d\d)_\w+\.ipynb$", name))]
    return len(lessons) == len(names) == len(set(lessons))


def _newest_first(handed: Handed) -> tuple[float, int, str]:
    number = _NUMBERED.search(_stem(handed.place))
    return -handed.time, -int((number[1] or number[2]) if number else 0), str(handed.place)


def _stem(place: PurePosixPath) -> str:
    """The name without its ending, the whole of "ipynb.txt".

    >>> _stem(PurePosixPath("a/ada.ipynb.txt")), _stem(PurePosixPath("ada.tar.gz"))
    ('ada', 'ada')
    """
    name = _NOTEBOOK.sub(lambda found: found[3] or "", place.name)
    return (
        PurePosixPath(name.removesuffix(place.suffix) if name == place.name else name).name.removesuffix(".tar") or name
    )


def _walk(folder: Path, skip: set[Path], known: dict[str, str]) -> Iterator[Handed]:
    if folder.is_file():
        if zipfile.is_zipfile(folder):
            yield from _members(_Archive(folder), PurePosixPath(), known, root=folder.stem)
        else:
            yield from _file(folder, PurePosixPath(_printable(folder.name)), known)
        return
    tops = set()
    for path, problem in _files(folder, skip):
        place = PurePosixPath(*(_printable(part) for part in path.relative_to(folder).parts))
        found = [_handed(place, 0.0, path, known, problem, is_folder=True)] if problem else _file(path, place, known)
        for handed in found:
            tops.add(path.relative_to(folder).parts[0])
            yield handed
    for path in sorted(folder.iterdir()):
        hidden = _SKIPPED.search(path.name) or _JUNK.search(path.name) or os.path.exists(path / "pyvenv.cfg")
        if path.name not in tops and not hidden and os.path.isdir(path) and path.resolve() not in skip:
            place = PurePosixPath(_printable(path.name))
            yield _handed(place, 0.0, path, known, _EMPTY, is_notebook=False, is_folder=True)


def _file(path: Path, place: PurePosixPath, known: dict[str, str]) -> Iterator[Handed]:
    """A file in a folder, whatever it is; a zip's members."""
    named = _NOTEBOOK.search(place.name) is not None
    try:
        about = path.lstat()
    except OSError as error:
        yield _handed(place, 0.0, path, known, _why(error), named)
        return
    if _SKIPPED.search(str(place)):
        if named and _is_copy(place):
            yield _other(place, path, known, _COPY, is_copy=True)
    elif not stat.S_ISREG(about.st_mode):
        link_to_folder = stat.S_ISLNK(about.st_mode) and os.path.isdir(path)
        yield _handed(place, 0.0, path, known, _LINK, named, link_to_folder)
    elif named or (place.suffix.lower() in _MAYBE_NOTEBOOK and _begins_as_notebook(path)):
        yield _handed(place, about.st_mtime, path, known)
    elif place.suffix.lower() == ".zip":
        yield from _members(_Archive(path), place, known)
    elif not _JUNK.search(str(place)):
        yield _other(place, path, known)


_EMPTY = "the folder is empty, or has only hidden files in it"
_LINK = "it is a link or no regular file, which is not followed; put the file itself there"
_COPY = "it is Jupyter's own copy, older than the notebook, which was not handed in"


def _is_copy(place: PurePosixPath) -> bool:
    return ".ipynb_checkpoints" in place.parts[1:] and not any(part.startswith(("._", ".~")) for part in place.parts)


def _begins_as_notebook(source: Path | _Member) -> bool:
    try:
        if isinstance(source, _Member):
            head = source.read_bytes(4096)
        else:
            head = _head(source)
    except Exception:
        return False
    first = re.match(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(\w+)"\s*:', head)
    return first is not None and (first[1] in (b"cells", b"worksheets") or b'"nbformat"' in head)


def _other(
    place: PurePosixPath,
    source: Path | _Member,
    known: dict[str, str],
    problem: str = "",
    is_copy: bool = False,
) -> Handed:
    """A file that is no notebook."""
    kind = _WORK.get(place.suffix.lower())
    if not problem and kind is not None and "archive" in kind:
        problem = f"it is {kind}; unpack it, or ask for a zip"
    elif not problem:
        problem = f"it is {kind or 'a file of another kind'}, {_NO_NOTEBOOK}"
    student, sure = _student(place, known)
    return Handed(place, student, 0.0, source, problem, sure, False, is_copy)


def _files(folder: Path, skip: set[Path]) -> Iterator[tuple[Path, str]]:
    """Every file, with "", and every folder that cannot be read, with why."""
    closed: list[OSError] = []
    for top, folders, files in os.walk(folder, onerror=closed.append):
        here = Path(top)
        folders[:] = sorted(name for name in folders if (here / name).resolve() not in skip)
        if "pyvenv.cfg" in files:  # a Python environment
            folders[:] = []
            continue
        links = [name for name in folders if (here / name).is_symlink()]
        for name in sorted([*files, *links]):
            yield here / name, ""
    for error in closed:
        if Path(error.filename) == folder:
            raise error
        yield Path(error.filename), f"the folder: {_why(error)}"


def _members(
    archive: _Archive, place: PurePosixPath, known: dict[str, str], root: str = "", depth: int = 0
) -> Iterator[Handed]:
    """The files in a zip, and in the zips in it."""
    outer = place.with_suffix("") if place.parts else place
    whole = place if place.parts else PurePosixPath(f"{_printable(root)}.zip")

    def refused(problem: str) -> Handed:
        return _handed(whole, 0.0, Path(), known, problem)

    try:
        infos = [info for info in _opened(archive).infolist() if not info.is_dir()]
    except Exception as error:
        yield refused(_why_no_zip(archive, error))
        return
    counted = [info for info in infos if info.filename.lower().endswith((".ipynb", ".zip"))]
    for what, count, most in (("notebooks", len(counted), MAX_MEMBERS), ("files", len(infos), MAX_LISTED)):
        if count > most:
            yield refused(f"the zip has {count:,} {what} in it, and {most:,} are read. Unpack it and grade the folder")
            return
    if sum(info.file_size for info in counted) > MAX_UNPACKED:
        yield refused(f"its notebooks unpack to more than {MAX_UNPACKED >> 30} GB. Unpack it and grade the folder")
        return
    if not infos:
        yield refused("the zip is empty")
    for info in sorted(infos, key=lambda info: info.filename):
        parts = [
            _printable(part)
            for part in PurePosixPath(info.filename.replace("\\", "/")).parts
            if part not in ("..", "/", ".")
        ]
        if parts and not place.parts and len(parts) > 1 and parts[0] in (root, "submissions", "submitted"):
            parts = parts[1:]
        if parts:
            yield from _member(_Member(archive, info), outer.joinpath(*parts), known, depth)


def _member(member: _Member, place: PurePosixPath, known: dict[str, str], depth: int) -> Iterator[Handed]:
    """A file in a zip, whatever it is; an inner zip's members."""
    named = _NOTEBOOK.search(place.name) is not None
    too_large = f"it is larger than {MAX_NOTEBOOK >> 20} MB" if member.info.file_size > MAX_NOTEBOOK else ""
    if _SKIPPED.search(str(place)):
        if named and _is_copy(place):
            yield _other(place, member, known, _COPY, is_copy=True)
    elif stat.S_ISLNK(member.info.external_attr >> 16):
        yield _handed(place, 0.0, member, known, _LINK, named)
    elif named or (place.suffix.lower() in _MAYBE_NOTEBOOK and _begins_as_notebook(member)):
        yield _handed(place, _zip_time(member.info), member, known, too_large)
    elif place.suffix.lower() == ".zip":
        if depth >= 2:
            yield _handed(place, 0.0, member, known, "it is a zip in a zip in a zip in a zip; unpack it")
        elif too_large:
            yield _handed(place, 0.0, member, known, f"{too_large}; unpack the zip around it")
        else:
            yield from _members(_Archive(member), place, known, depth=depth + 1)
    elif not _JUNK.search(str(place)):
        yield _other(place, member, known)


def _why_no_zip(archive: _Archive, error: Exception) -> str:
    if isinstance(error, OSError):
        return _why(error)
    try:
        head = archive.source.read_bytes(4096) if isinstance(archive.source, _Member) else _head(archive.source)
    except Exception:
        return "the zip cannot be read: what it is in is damaged"
    kind = "" if head.startswith(b"PK") else looks_like(head)
    what = "is empty" if not head else f"is none: it is {kind}" if kind else "cannot be read: it is damaged, or cut off"
    return f"the zip {what}"


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(4096)


def _zip_time(info: zipfile.ZipInfo) -> float:
    try:
        return time.mktime((*info.date_time, 0, 0, -1))
    except (ValueError, OverflowError):
        return 0.0


def _handed(
    place: PurePosixPath,
    when: float,
    source: Path | _Member,
    known: dict[str, str],
    problem: str = "",
    is_notebook: bool = True,
    is_folder: bool = False,
) -> Handed:
    student, sure = _student(place, known)
    return Handed(place, student, when, source, problem, sure, is_notebook, False, is_folder)


def _student(place: PurePosixPath, known: dict[str, str]) -> tuple[str, bool]:
    """Whose file this is, and whether more than a folder or a file's own name says so.

    A known id or name anywhere in its path, an LMS's pattern, its folder, or its own name.
    """
    parts = [*place.parts[:-1], _stem(place)]
    for part in parts:
        if part.casefold() in known:
            return known[part.casefold()], True
    for part in parts:
        for pattern in (_MOODLE, _CANVAS, _BLACKBOARD):
            found = pattern.match(part)
            if found:
                name, id = found.groupdict().get("name"), found["id"]
                aliases = [alias.casefold() for alias in (id, name) if alias]
                whose = next((known[alias] for alias in aliases if alias in known), None)
                return whose or (f"{name} ({id})" if name else id), True
    for word in (word.casefold() for part in parts for word in re.split(r"[_@ ]", part)):
        if len(word) > 2 and word in known:
            return known[word], True
    return parts[0], False


def _printable(name: str) -> str:
    """A file's name as text that can be written anywhere: no surrogates, no control characters.

    >>> _printable("m\\udcfcller"), _printable("a\\x07b")  # the first is Latin-1 on the disk
    ('müller', 'a\ufffdb')
    """
    name = re.sub("[\udc80-\udcff]", lambda byte: chr(ord(byte[0]) - 0xDC00), name).encode("utf-8", "replace").decode()
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)
