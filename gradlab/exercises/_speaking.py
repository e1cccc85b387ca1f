"""The words that a lesson uses: predict, reveal, check and hint."""

from __future__ import annotations

import ast
import contextlib
import html
import io
import sys
import warnings
from types import TracebackType
from typing import Any

from gradlab.exercises._cards import Card, inline, notebook_shell, show
from gradlab.exercises._framework import Exercise, Prediction, Verdict
from gradlab.exercises._progress import first_guess, keep_guess, keep_solved
from gradlab.exercises._registry import get, get_prediction
from gradlab.exercises._running import graph_of, judge_answer

_NOTHING = object()
_WORDS = {"passed": "right", "failed": "not right", "not-yet": "not yet", "error": "it raised"}


def _complain(title: str, message: str) -> None:
    show(Card("not-yet", "?", title, f"<p>{inline(message)}</p>", f"{title}: {message}"))


def predict(id: str, choice: str | int) -> None:
    """Show a question before its cell is run ("?"), or keep a first guess (a choice's text or its number).

    Only the first guess counts, and none is ever scored: it is put beside the result by `reveal`.

    >>> import gradlab
    >>> gradlab.predict("01A", "?")
    Predict 01A: ...
    """
    try:
        prediction = get_prediction(id)
    except KeyError as error:
        _complain("No such prediction", error.args[0])
        return
    choices = list(prediction.choices)
    if isinstance(choice, int) and not isinstance(choice, bool) and 1 <= choice <= len(choices):
        choice = choices[choice - 1]
    if choice in choices:
        _show_guess(prediction, keep_guess(id, str(choice)), str(choice))
    else:
        _show_question(prediction, None if choice in ("?", ...) else choice)


def _show_question(prediction: Prediction, unknown: Any) -> None:
    choices = list(prediction.choices)
    items = "".join(f"<li><code>{html.escape(choice)}</code></li>" for choice in choices)
    how = f'Write your guess into the cell, by its number or its text: `predict("{prediction.id}", 1)`'
    note = f"`{unknown}` is none of the choices. " if unknown is not None else ""
    advice = f"<p class='gl-label'>{inline(note + how)}, then run it again.</p>"
    body = f"<p>{inline(prediction.question)}</p><ol>{items}</ol>{advice}"
    lines = [
        f"Predict {prediction.id}: {prediction.question}",
        *(f"  {i}. {c}" for i, c in enumerate(choices, 1)),
        note + how,
    ]
    show(Card("predict", f"predict {prediction.id}", "", body, "\n".join(lines), {"predict": prediction.id}))


def _show_guess(prediction: Prediction, first: str, now: str) -> None:
    note = "Now run the next cell." if first == now else f"Your first guess stays: `{first}`."
    body = f"<p>{inline(prediction.question)}</p><p>You say: <code>{html.escape(first)}</code>. {inline(note)}</p>"
    text = f"Predict {prediction.id}: you say {first}. {note}"
    show(Card("predict", f"predict {prediction.id}", "", body, text, {"predict": prediction.id, "guess": first}))


class _Revealing:
    """Runs the block, then shows what it printed, warned and raised beside the guess."""

    def __init__(self, id: str | None) -> None:
        self._id = id

    def __repr__(self) -> str:
        return 'write `with reveal("..."):` and the code to run below it, indented'

    def __enter__(self) -> None:
        self._printed = io.StringIO()
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(contextlib.redirect_stdout(self._printed))
        self._warned = self._stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._stack.close()
        _show_result(self._id, self._printed.getvalue().rstrip(), self._warned, error)
        return error is None or isinstance(error, Exception)


def reveal(id: str | None = None, value: Any = _NOTHING) -> Any:
    """Show a result beside the guess: `reveal("01A", x.grad)`, or `with reveal("06A"):` around the code to run.

    The block form shows what was printed, and turns an exception or a warning into part of the result: a lesson goes on
    after an error that it announced. Without an id there is no guess to show.

    >>> import gradlab
    >>> gradlab.reveal("01A", 3.0)
    you said: ...
    """
    if value is _NOTHING:
        return _Revealing(id)
    _show_result(id, str(value), [], None)
    return None


def _shorten(text: str) -> tuple[str, str]:
    """The first two sentences of an error text, and the rest."""
    flat = " ".join(text.split())
    cut = flat.find(". ", flat.find(". ") + 1)
    return (flat, "") if cut < 0 or len(flat) < 260 else (flat[: cut + 1], flat[cut + 1 :])


def _show_result(
    id: str | None, printed: str, warned: list[warnings.WarningMessage], error: BaseException | None
) -> None:
    prediction = None
    if id is not None:
        try:
            prediction = get_prediction(id)
        except KeyError as unknown:
            _complain("No such prediction", unknown.args[0])
    parts, lines = [], []
    if printed or (error is None and not warned):
        parts.append(f"<pre>{html.escape(printed or 'done: nothing printed, nothing raised')}</pre>")
        lines.append(printed or "done: nothing printed, nothing raised")
    for warning in warned:
        short, rest = _shorten(str(warning.message))
        parts.append(_message("warned", f"{warning.category.__name__}: {short}", rest))
        lines.append(f"warned  {warning.category.__name__}: {short}")
    if error is not None:
        short, rest = _shorten(str(error))
        parts.append(_message("raised", f"{type(error).__name__}: {short}", rest))
        lines.append(f"raised  {type(error).__name__}: {short}")
        if isinstance(error, NameError):
            parts.append("<p>A name is missing: run the cells above this one first.</p>")
            lines.append("A name is missing: run the cells above this one first.")
    _show_sides(prediction, "".join(parts), "\n".join(lines))


def _message(word: str, text: str, rest: str) -> str:
    more = f"<details><summary>the whole text</summary><pre>{html.escape(text + rest)}</pre></details>" if rest else ""
    return f"<p><b>{word}</b> {html.escape(text)}</p>{more}"


def _show_sides(prediction: Prediction | None, result: str, text: str) -> None:
    facts = {"reveal": prediction.id if prediction else None, "result": text}
    if prediction is None:
        show(Card("reveal", "result", "", result, text, facts))
        return
    guess = first_guess(prediction.id)
    said = prediction.choices.get(guess or "", "")
    left = (
        f"<p><code>{html.escape(guess)}</code></p>"
        if guess
        else "<p class='gl-label'>nothing: no guess was made above</p>"
    )
    comment = f"<p>{inline(said)}</p>" if said else ""
    body = (
        f"<div class='gl-sides'><div><div class='gl-label'>you said</div>{left}</div>"
        f"<div><div class='gl-label'>it is</div>{result}</div></div>{comment}"
    )
    whole = f"you said: {guess or 'nothing'}\nit is:    {text}" + (f"\n{said}" if said else "")
    show(Card("reveal", f"reveal {prediction.id}", prediction.question, body, whole, facts))


def check(id: str) -> None:
    """Check the answer to an exercise, found by the name that the exercise declares, on fresh random inputs.

    >>> import gradlab
    >>> gradlab.check("01-1")
    01-1 not yet: There is no `table` yet. ...
    """
    try:
        exercise = get(id)
    except KeyError as error:
        _complain("No such exercise", error.args[0])
        return
    shell = notebook_shell()
    namespace = shell.user_ns if shell is not None else sys._getframe(1).f_globals
    source = _source_of(exercise, namespace)
    verdict, picture = judge_answer(exercise, namespace, source)
    if verdict.passed:
        keep_solved(id)
    elif not picture and shell is not None:
        picture = graph_of(exercise, namespace, verdict.status, source)
    _show_verdict(exercise, verdict, picture)


def _source_of(exercise: type[Exercise], namespace: dict[str, Any]) -> str | None:
    """The text of the last cell that bound the answer's names, where a notebook keeps its inputs."""
    for cell in reversed(namespace.get("In") or []):
        with contextlib.suppress(SyntaxError):
            if set(exercise.names) & _bound(ast.parse(cell)):
                return str(cell)
    return None


def _bound(tree: ast.AST) -> set[str]:
    """The names that a cell binds, not those that are local to a function or class in it."""
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif not isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            names |= _bound(node)
    return names


def _show_verdict(exercise: type[Exercise], verdict: Verdict, picture: str) -> None:
    body = f"<p>{inline(verdict.message)}</p>{picture}"
    text = f"{exercise.id} {_WORDS[verdict.status]}: {verdict.message}"
    if not verdict.passed:
        body += _folded_hints(exercise)
        text += f'\nA hint: hint("{exercise.id}", 1)'
    facts = {"check": exercise.id, "status": verdict.status, "misconception": verdict.misconception}
    show(Card(verdict.status, _WORDS[verdict.status], f"{exercise.id} · {exercise.title}", body, text, facts))


def _folded_hints(exercise: type[Exercise]) -> str:
    inner = ""
    for level in (3, 2, 1):
        inner = f"<details><summary>hint {level}</summary><p>{inline(exercise.hints[level - 1])}</p>{inner}</details>"
    return inner


def hint(id: str, level: int = 1) -> None:
    """Show one hint: 1 says where to look, 2 names the rule, 3 shows code with one blank.

    >>> import gradlab
    >>> gradlab.hint("01-1")
    Hint 1: Look at the strip above: ...
    """
    try:
        exercise = get(id)
    except KeyError as error:
        _complain("No such exercise", error.args[0])
        return
    if level not in (1, 2, 3):
        _complain(f"Exercise {id}", f"There are hints 1, 2 and 3, not {level!r}.")
        return
    words = exercise.hints[level - 1]
    show(
        Card(
            "hint",
            f"hint {level}",
            f"{exercise.id} · {exercise.title}",
            f"<p>{inline(words)}</p>",
            f"Hint {level}: {words}",
            {"hint": id, "level": level},
        )
    )
