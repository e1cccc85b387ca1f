"""Where the exercises and predictions of the course are found."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from pathlib import Path
from types import ModuleType

from gradlab.exercises._framework import Exercise, Prediction

_loaded: list[ModuleType] = []
_extra: dict[str, type[Exercise]] = {}


def _lessons() -> list[ModuleType]:
    if not _loaded:
        package = importlib.import_module("gradlab.exercises")
        names = sorted(m.name for m in pkgutil.iter_modules(package.__path__) if m.name.startswith("lesson_"))
        _loaded.extend([importlib.import_module(f"gradlab.exercises.{name}") for name in names])
    return _loaded


def _exercises_of(module: ModuleType) -> list[type[Exercise]]:
    found = [v for v in vars(module).values() if isinstance(v, type) and issubclass(v, Exercise)]
    own = (e for e in found if e.__module__ == module.__name__)
    return sorted((e for e in own if "lesson" in vars(e)), key=_order)  # an abstract one belongs to no lesson


def _order(exercise: type[Exercise]) -> tuple[str, int, str]:
    lesson, _, number = exercise.id.partition("-")
    return lesson, int(number) if number.isdigit() else 0, number


def all_exercises() -> list[type[Exercise]]:
    """Every exercise of the course, in the order of the lessons.

    >>> "06-3" in [exercise.id for exercise in all_exercises()]
    True
    """
    return [exercise for module in _lessons() for exercise in _exercises_of(module)]


def get(id: str) -> type[Exercise]:
    """The exercise with this id; a KeyError names the ids that are near.

    >>> get("06-3").title
    'Two losses, one trunk'
    """
    known = {exercise.id: exercise for exercise in all_exercises()} | _extra
    if id not in known:
        near = [other for other in known if other.split("-")[0] == str(id).split("-")[0]]
        hint = f"lesson {str(id)[:2]} has {', '.join(near)}" if near else "ids look like 06-3: lesson, dash, number"
        raise KeyError(f"there is no exercise {id!r}; {hint}")
    return known[id]


def load(path: str | Path) -> list[type[Exercise]]:
    """The exercises of a file outside the package; check(id) knows them from then on."""
    path = Path(path)
    spec = importlib.util.spec_from_file_location(f"gradlab_course_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError(f"{path} is no Python file with exercises")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    exercises = _exercises_of(module)
    _extra.update({exercise.id: exercise for exercise in exercises})
    return exercises


def all_predictions() -> list[Prediction]:
    """Every prediction of the course, in the order of the lessons."""
    return [prediction for module in _lessons() for prediction in getattr(module, "PREDICTIONS", ())]


def get_prediction(id: str) -> Prediction:
    """The prediction with this id; a KeyError says what ids look like."""
    known = {prediction.id: prediction for prediction in all_predictions()}
    if id not in known:
        raise KeyError(f"there is no prediction {id!r}; ids look like 06A: lesson, then a letter")
    return known[id]
