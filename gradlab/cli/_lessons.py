"""Where the lessons are, and the learner's working copy of them."""

import hashlib
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import gradlab

PACKAGE = Path(gradlab.__file__).parent
RECORD = ".gradlab-lessons.json"  # in a working copy: the digest of each file as it was handed out
NOT_FOR_LEARNERS = ("source", "__pycache__", ".ipynb_checkpoints")


class LessonsError(Exception):
    """Something that the person who typed the command can put right; the message says how."""


def lessons_folder() -> Path:
    """The folder of the course's own notebooks: in the installed package, or beside it in a clone.

    >>> (lessons_folder() / "README.md").is_file()
    True
    """
    for folder in (PACKAGE / "_lessons", PACKAGE.parent / "lessons"):
        if any(folder.glob("[0-9][0-9]_*.ipynb")):
            return folder
    raise LessonsError(
        f"This installation of gradlab has no lessons (looked beside {PACKAGE}). "
        "Install it again from a clone or from its wheel; both carry them."
    )


def lesson_name(folder: Path, lesson: str) -> str:
    """The file name of a notebook that is asked for as "6", "06" or by its file name, such as "gallery".

    Raises LessonsError, naming the lessons there are, when there is no such lesson.
    """
    stems = sorted(path.stem for path in folder.glob("*.ipynb"))
    called = {stem[:2] if stem[:2].isdecimal() else stem: stem for stem in stems}
    wanted = lesson.removesuffix(".ipynb")
    number = f"{int(wanted):02}" if wanted.isdecimal() else wanted
    if number in called or wanted in stems:
        return f"{called.get(number, wanted)}.ipynb"
    raise LessonsError(f"There is no lesson {lesson!r}. The lessons are {', '.join(called)}.")


@dataclass
class Copied:
    """What `working_copy` did, as names of files."""

    new: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)  # changed by the learner, and there is a newer edition


def working_copy(source: Path, folder: Path) -> Copied:
    """Bring `folder` up to date with the lessons in `source`, and never touch what the learner has changed.

    A file that is missing is copied. One that is still as it was handed out is replaced by a newer edition. One that
    the learner has changed (or put there) stays; it is listed as `kept` if the course has a newer edition of it.
    """
    record = folder / RECORD
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handed_out = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
    except (OSError, ValueError) as error:
        raise LessonsError(f"The folder {folder} cannot be used: {error}. Choose another with --folder.") from None
    done = Copied()
    try:
        for path in files_for_learners(source):
            name = path.relative_to(source).as_posix()
            target = folder / name
            edition = digest(path)
            if not target.exists():
                done.new.append(name)
            elif digest(target) == edition:
                handed_out[name] = edition
                continue
            elif digest(target) == handed_out.get(name):
                done.updated.append(name)
            else:
                if handed_out.get(name) != edition:
                    done.kept.append(name)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            handed_out[name] = edition
        record.write_text(json.dumps(handed_out, indent=1, sort_keys=True), encoding="utf-8")
    except OSError as error:
        raise LessonsError(f"Lessons cannot be copied to {folder}: {error}. Choose another with --folder.") from None
    return done


def files_for_learners(source: Path) -> list[Path]:
    """The files of a working copy: notebooks, pages and pictures, without what builds them."""
    found = (path for path in sorted(source.rglob("*")) if path.is_file() and path.suffix != ".py")
    return [path for path in found if not set(NOT_FOR_LEARNERS) & set(path.relative_to(source).parts)]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
