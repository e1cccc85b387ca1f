"""What an exercise is: its parts, its known-wrong answers and the verdict on an answer."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

STATUSES = ("passed", "failed", "not-yet", "error")
KINDS = ("callable", "dict", "tensor", "text", "list", "number")


@dataclass(frozen=True)
class Verdict:
    """What a check says about one answer.

    `status` is "passed", "failed" (a wrong answer), "not-yet" (the stub, or something still to fill in) or
    "error" (the answer raised, or did not end). `misconception` is the id of the misunderstanding that a wrong
    answer fits, None where there is none; `message` is what the learner reads.

    >>> Verdict("failed", "grad-starts-at-zero", "None is not 0.").passed
    False
    """

    status: str
    misconception: str | None = None
    message: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"a Verdict's status is one of {', '.join(STATUSES)}, not {self.status!r}")

    @property
    def passed(self) -> bool:
        """True when the answer is right."""
        return self.status == "passed"


@dataclass(frozen=True)
class Wrong:
    """A known-wrong answer: its source, and the id of the misconception that it shows."""

    source: str
    misconception: str


@dataclass(frozen=True)
class Prediction:
    """A question to be answered before a cell is run.

    `choices` maps each choice to what is said to whoever chose it, once the result is known. `shows` is a piece of text
    that the revealed result must contain for those words to be true; `gradlab verify` runs the lesson and looks for it.
    """

    id: str
    question: str
    choices: dict[str, str]
    shows: str


class Exercise:
    """One exercise of the course, as a class that is never instantiated.

    `probe` runs beside the learner's code and returns plain data: None, bool, int, float, str, list, dict with str
    keys, numpy arrays. Its source stands alone: everything it imports, it imports inside. `judge` compares that data
    with the truth, which it computes itself, and names the misconception.
    """

    id: ClassVar[str]
    lesson: ClassVar[str]
    title: ClassVar[str]
    question: ClassVar[str]
    points: ClassVar[int] = 2
    core: ClassVar[bool] = True
    names: ClassVar[tuple[str, ...]]
    kind: ClassVar[str] = "callable"
    evidence: ClassVar[str] = "value"
    hints: ClassVar[tuple[str, str, str]]
    prelude: ClassVar[str] = "import math\nimport numpy as np\nimport torch\n"
    stub: ClassVar[str]
    solution: ClassVar[str]
    also_right: ClassVar[tuple[str, ...]] = ()
    wrong: ClassVar[tuple[Wrong, ...]]
    misconceptions: ClassVar[dict[str, str]]
    forbids: ClassVar[tuple[str, ...]] = ()
    seconds: ClassVar[float] = 20.0
    promised_seconds: ClassVar[float] = 0.0  # what the question gives an answer, also when it is graded

    def __init_subclass__(cls, abstract: bool = False) -> None:
        if abstract:
            return
        required = ("id", "title", "question", "names", "hints", "stub", "solution", "wrong", "misconceptions")
        missing = [name for name in required if not hasattr(cls, name)]
        if missing:
            raise TypeError(f"exercise {cls.__name__} lacks {', '.join(missing)}")
        if cls.kind not in KINDS:
            raise TypeError(f"exercise {cls.id}: kind is one of {', '.join(KINDS)}, not {cls.kind!r}")
        if cls.evidence not in ("value", "observed"):
            raise TypeError(f"exercise {cls.id}: evidence is 'value' or 'observed', not {cls.evidence!r}")
        if len(cls.hints) != 3:
            raise TypeError(f"exercise {cls.id} has {len(cls.hints)} hints; three are wanted: where, the rule, a blank")
        for name in ("question", "prelude", "stub", "solution"):
            setattr(cls, name, textwrap.dedent(getattr(cls, name)).strip() + "\n")
        cls.also_right = tuple(textwrap.dedent(source).strip() + "\n" for source in cls.also_right)
        cls.wrong = tuple(Wrong(textwrap.dedent(w.source).strip() + "\n", w.misconception) for w in cls.wrong)
        unknown = {w.misconception for w in cls.wrong} - set(cls.misconceptions)
        if unknown:
            raise TypeError(f"exercise {cls.id}: no message for {', '.join(sorted(unknown))}")
        cls.lesson = cls.id.split("-")[0]

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Fresh random inputs as plain data; {} when the exercise needs none."""
        return {}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """Run the answer on the inputs and return plain data."""
        raise NotImplementedError

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Compare what the probe saw with the truth."""
        raise NotImplementedError

    @staticmethod
    def picture(inputs: dict[str, Any], seen: Any) -> str:
        """HTML that shows what the answer did; empty where there is nothing to draw."""
        return ""

    @staticmethod
    def graph(answer: dict[str, Any]) -> dict[str, Any]:
        """Tensors by name, the result first, whose graph shows what the answer recorded; {} where there is none.

        It runs in the learner's notebook only, for an answer that is not right.
        """
        return {}

    @classmethod
    def draws(cls) -> bool:
        """True when this exercise has a picture of what an answer did."""
        return cls.picture is not Exercise.picture

    @classmethod
    def right(cls, message: str = "") -> Verdict:
        """The verdict on a right answer."""
        return Verdict("passed", None, message or "Right.")

    @classmethod
    def fits(cls, misconception: str, example: str = "") -> Verdict:
        """The verdict on an answer that fits `misconception`, with one concrete `example`."""
        return Verdict("failed", misconception, f"{cls.misconceptions[misconception]} {example}".strip())

    @classmethod
    def not_right(cls, message: str) -> Verdict:
        """The verdict on a wrong answer that fits no known misconception."""
        return Verdict("failed", None, message)

    @classmethod
    def probe_source(cls) -> str:
        """The source of `probe` as a plain function, to be run where gradlab's exercises are out of reach.

        Annotations are left out: the names in them belong to the module that `probe` was written in.
        """
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls.probe)))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                node.returns = None
                node.decorator_list = [
                    d for d in node.decorator_list if ast.unparse(d) != "staticmethod" or node is not tree.body[0]
                ]
            elif isinstance(node, ast.arg):
                node.annotation = None
        return ast.unparse(tree) + "\n"
