"""From a notebook's bytes to the cells to run: tolerant reading, finding answers, and what each answer needs.

Runs in the judge's process, which is ended when a file takes too long, and never executes what it reads.
"""

from __future__ import annotations

import ast
import builtins
import codecs
import contextlib
import json
import re
import symtable
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from gradlab.grading.tame import is_tame

MAX_NOTEBOOK = 100 << 20
MAX_CELLS = 5_000
MAX_SOURCE = 200_000
_KEPT_SOURCE = 8_000
_BUILTIN = frozenset(vars(builtins))


class UnreadableError(ValueError):
    """The file is no notebook that can be read."""


def read_cells(content: bytes) -> list[Cell]:
    """The code cells of a notebook, whatever its version and whatever else is odd about it. UnreadableError if it is none."""
    if len(content) > MAX_NOTEBOOK:
        raise UnreadableError(f"the file has {len(content) >> 20} MB; {MAX_NOTEBOOK >> 20} MB are read")
    text = _text(content)
    try:
        notebook = _json(text)
    except RecursionError:
        raise UnreadableError("this is no notebook: its JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise UnreadableError(_why_broken(content, text, error)) from None
    if not isinstance(notebook, dict):
        raise UnreadableError("this is no notebook: a JSON file of another kind")
    cells = notebook.get("cells")
    if cells is None and isinstance(notebook.get("worksheets"), list):  # nbformat 3
        cells = [
            cell for sheet in notebook["worksheets"] if isinstance(sheet, dict) for cell in sheet.get("cells") or []
        ]
    if not isinstance(cells, list):
        raise UnreadableError("this is no notebook: it has no cells")
    return _code_cells(cells[:MAX_CELLS])


def _json(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError:
        raise
    except ValueError:  # a number of more digits than Python makes an int of; none of a notebook's numbers is read
        return json.loads(text, strict=False, parse_int=float)


def _why_broken(content: bytes, text: str, error: json.JSONDecodeError) -> str:
    kind = looks_like(content)
    if not content.strip():
        return "the file is empty"
    if not content.strip(b"\0"):
        return "the file has only zeros in it: what was in it was lost on its way"
    if kind and not content.lstrip().startswith((b"{", codecs.BOM_UTF8 + b"{")):
        return f"this is no notebook: it is {kind}"
    words = f"this is no notebook that can be read: its JSON is broken (line {error.lineno})"
    if re.search(r"^<{7} ", text, re.MULTILINE):
        return f"{words}, by Git's marks of a merge conflict (<<<<<<<)"
    return words if text.rstrip().endswith("}") else f"{words}; it ends in the middle, as if cut off on its way"


_KINDS = (
    (b"PK\x03\x04", "a zip, or an Office document"),
    (b"%PDF", "a PDF"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"\xd0\xcf\x11\xe0", "an Office document"),
    (b"version https://git-lfs", "a pointer of Git LFS in the place of the file"),
    (b"<", "a web page, as a browser may save it in the place of the file"),
    (b"{", "a notebook, or another JSON file"),
)


def looks_like(content: bytes) -> str:
    """What a file is that is not what its name says, by how it begins; "" for what is not known.

    >>> looks_like(b"%PDF-1.4"), looks_like(b"import torch\\n")
    ('a PDF', 'a Python file')
    """
    head = content[:4096].removeprefix(codecs.BOM_UTF8).lstrip()
    if re.match(rb"(import|from|def|class)\s+\w|# |#!|\"\"\"", head):
        return "a Python file"
    return next((kind for start, kind in _KINDS if head.startswith(start)), "")


def _text(content: bytes) -> str:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _code_cells(cells: list[Any]) -> list[Cell]:
    """The code cells but those that only check, each with the exercise that the next check below it is for."""
    found: list[Cell] = []
    check = None
    for cell in reversed(cells):
        ours = _ours(cell)
        if "check" in ours:
            check = ours["check"] if isinstance(ours["check"], str) else None
        elif (code := _code_cell(cell, ours.get("exercise"), check)) is not None:
            found.append(code)
    return found[::-1]


def _ours(cell: Any) -> dict[str, Any]:
    metadata = cell.get("metadata") if isinstance(cell, dict) and cell.get("cell_type") == "code" else None
    ours = metadata.get("gradlab") if isinstance(metadata, dict) else None
    return ours if isinstance(ours, dict) else {}


def _code_cell(cell: Any, exercise: Any, check: str | None) -> Cell | None:
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return None
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    if not isinstance(source, str):
        return None
    return Cell(source, exercise if isinstance(exercise, str) else None, check)


@dataclass(frozen=True)
class Cell:
    """One code cell: its source as the student wrote it, the exercise that its metadata names, and the next check's."""

    source: str
    exercise: str | None = None
    check: str | None = None

    @cached_property
    def code(self) -> Code:
        """What the source is as Python. Most cells of a class are the lesson's own, so it is looked at once."""
        return _code_once(self.source) if len(self.source) < _KEPT_SOURCE else Code.of(self.source)


@dataclass(frozen=True)
class Code:
    """A cell's Python: the source without what only IPython understands, what is wrong with it, and its global names."""

    python: str
    syntax_error: str = ""
    defined: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    imports: tuple[tuple[str, str], ...] = ()
    tame: bool = False

    @staticmethod
    def of(source: str) -> Code:
        """
        >>> code = Code.of("%matplotlib inline\\nimport torch as t\\nw.data[0] = t.ones(1)\\ndef f(x): return x + b")
        >>> sorted(code.defined), sorted(code.used), sorted(code.changed), code.imports
        (['f', 't'], ['b', 'w'], ['w'], (('t', 'torch'),))
        """
        source = source.encode("utf-8", "replace").decode().replace("\0", "")
        if len(source) > MAX_SOURCE:
            return Code("", f"the cell is longer than {MAX_SOURCE:,} characters")
        if re.match(r"\s*%%(?!time\b|timeit\b|capture\b|prun\b)", source):
            return Code("")
        try:
            tree, python = _parse(source)
            table = symtable.symtable(python, "<cell>", "exec")
            compile(tree, "<cell>", "exec", dont_inherit=True)  # finds an await or a return outside a function
        except SyntaxError as error:
            return Code(source, f"{error.msg}, line {error.lineno}")
        except (RecursionError, MemoryError, ValueError):
            return Code(source, "it is nested too deeply")
        return Code(python, "", *_names(tree, table), tuple(_imports(tree)), is_tame(python))


_code_once = lru_cache(4096)(Code.of)


def _parse(source: str) -> tuple[ast.Module, str]:
    try:
        return ast.parse(source), source
    except SyntaxError:
        source = _without_prompts(source)
        lines = [re.sub(r"^(\s*)(%|!|\?|.*\?\s*$).*", r"\1pass", line) for line in source.split("\n")]
        lines = [re.sub(r"^(\s*\w+\s*=\s*)[%!].*", r"\1None", line) for line in lines]
        without = "\n".join(lines)
        with contextlib.suppress(SyntaxError):
            return ast.parse(without), without
        raise


def _without_prompts(source: str) -> str:
    """As IPython takes a cell: without an indent that all lines share, and without the prompts of a session.

    >>> _without_prompts(">>> def f():\\n...     return 1"), _without_prompts("  x = 1\\n  y = 2")
    ('def f():\\n    return 1', 'x = 1\\ny = 2')
    """
    source = textwrap.dedent(source)
    if not re.match(r"\s*(>>>|In \[\d+\]:)", source):
        return source
    return re.sub(r"^(>>> ?|\.\.\. ?|In \[\d+\]: ?| *\.\.\.: ?)", "", source, flags=re.MULTILINE)


def _names(tree: ast.Module, table: symtable.SymbolTable) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The global names that the code defines, uses and changes in place."""
    defined = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    used = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    for inner in _scopes(table):
        for symbol in inner.get_symbols():
            if symbol.is_global():
                (defined if symbol.is_declared_global() and symbol.is_assigned() else used).add(symbol.get_name())
    changed = {name for statement in _statements(tree.body) for name in _changes(statement)}
    used = (used - defined - _BUILTIN) | (_used_before_defined(tree) & defined)
    return frozenset(defined), frozenset(used), frozenset(changed - defined)


def _used_before_defined(tree: ast.Module) -> set[str]:
    """Names that the top level reads before it binds them, as a in `a = a + 1`: an earlier cell has to bind them."""
    bound: set[str] = set()
    early: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(statement.name)
            continue
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        stored = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
        read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        if isinstance(statement, ast.AugAssign):
            read |= stored
        simple = isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr))
        aliases = [node for node in ast.walk(statement) if isinstance(node, ast.alias)]
        early |= (read if simple else read - stored) - bound
        bound |= stored | {alias.asname or alias.name.split(".")[0] for alias in aliases}
    return early


def _scopes(table: symtable.SymbolTable) -> Iterable[symtable.SymbolTable]:
    todo = list(table.get_children())
    while todo:
        inner = todo.pop()
        yield inner
        todo += inner.get_children()


def _statements(body: Sequence[ast.stmt]) -> Iterable[ast.stmt]:
    """The statements at module level, those inside if, for, while, with and try among them."""
    todo = list(body)
    while todo:
        statement = todo.pop()
        yield statement
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for part in ("body", "orelse", "finalbody"):
                todo += getattr(statement, part, [])
            todo += [inner for handler in getattr(statement, "handlers", []) for inner in handler.body]


def _changes(statement: ast.stmt) -> Iterable[str]:
    """Names that a statement changes in place: w[0] = 1, w.grad = None, w += 1, w.zero_()."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = [t for t in statement.targets if isinstance(t, (ast.Attribute, ast.Subscript))]
    elif isinstance(statement, ast.AugAssign):
        targets = [statement.target]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        targets = [statement.value.func] if isinstance(statement.value.func, ast.Attribute) else []
    for target in targets:
        while isinstance(target, (ast.Attribute, ast.Subscript, ast.Call)):
            target = target.func if isinstance(target, ast.Call) else target.value
        if isinstance(target, ast.Name):
            yield target.id


def find_answer(cells: Sequence[Cell], id: str, names: Sequence[str], stub: str) -> int | None:
    """Which cell holds the answer: the last that its metadata names, else the last that defines the names.

    A learner may leave the given cell as it was and answer in one of their own: then that one counts. An answer may be
    spread over the cells above its check, or go on there below the given one: then the last of them counts, and
    `needed_cells` finds the others. Another lesson's notebook has no answer to this one's exercises, whatever names
    its cells define.
    """
    wanted = set(names)
    marked = [i for i, cell in enumerate(cells) if cell.exercise == id]
    lessons = {_lesson(cell.exercise) for cell in cells if cell.exercise is not None}
    here = not lessons or _lesson(id) in lessons
    own = [i for i, cell in enumerate(cells) if here and cell.exercise is None and wanted <= cell.code.defined]
    answered = [
        i
        for i in marked
        if not is_stub(cells[i], stub) and (cells[i].code.syntax_error or wanted & cells[i].code.defined)
    ]
    place = next((candidates[-1] for candidates in (answered, own, marked) if candidates), None)
    parts = [
        i for i, cell in enumerate(cells) if cell.check == id and cell.exercise in (None, id) and _binds(cell, wanted)
    ]
    if place is not None:
        return parts[-1] if parts and parts[-1] > place and cells[place].check == id else place
    return parts[-1] if wanted <= {name for i in parts for name in cells[i].code.defined} else None


def _binds(cell: Cell, names: set[str]) -> bool:
    return bool(names & (cell.code.defined | cell.code.changed)) and not cell.code.syntax_error


def _lesson(id: str) -> str:
    return id.rpartition("-")[0]


def is_stub(cell: Cell, stub: str) -> bool:
    """True when the cell differs from the stub in layout and comments only."""
    if cell.source.strip() == stub.strip():
        return True
    mine, given = cell.code, _code_once(stub)
    if (mine.defined, mine.used) != (given.defined, given.used):
        return False
    return (_shape(mine.python) or "?") == _shape(stub)


@lru_cache(1024)
def _shape(source: str) -> str:
    try:
        return ast.dump(ast.parse(textwrap.dedent(source)))
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        return ""


def needed_cells(
    cells: Sequence[Cell], answer: int, provided: frozenset[str], avoid: frozenset[int], names: Sequence[str] = ()
) -> list[int]:
    """The answer's cell, and the earlier cells that define or change what it uses, and what those use, in order.

    So do those that define what the answer's cell leaves out of `names`. `provided` names are there anyway. `avoid` are
    cells that answer other exercises: they come in only by definition.
    """
    needed = {answer}
    todo = [(name, answer) for name in cells[answer].code.used | (set(names) - cells[answer].code.defined)]
    seen = set()
    while todo:
        name, before = todo.pop()
        if name in provided or (name, before) in seen:
            continue
        seen.add((name, before))
        defining = [i for i in range(before) if name in cells[i].code.defined]
        if not defining:  # called later than defined: a helper that stands below
            defining = [i for i in range(before + 1, len(cells)) if name in cells[i].code.defined][:1]
        start = defining[-1] if defining else 0
        changing = [i for i in range(start, before) if name in cells[i].code.changed and i not in avoid]
        for i in {*defining[-1:], *changing} - needed:
            needed.add(i)
            todo += [(other, i) for other in cells[i].code.used | cells[i].code.changed]
    return [*sorted(needed - {answer}), answer]


def forbidden_name(cells: Sequence[Cell], needed: Sequence[int], forbids: Sequence[str]) -> str | None:
    """A module among `forbids` that the answer (the last of `needed`) imports, or that it or what it needs uses."""
    imported = [pair for cell in cells for pair in cell.code.imports]
    bound = dict(imported)
    aliases = {name: name for name in forbids if name not in bound}
    aliases |= {alias: module for alias, module in imported if module.split(".")[0] in forbids}
    own = [module for _, module in cells[needed[-1]].code.imports if module.split(".")[0] in forbids]
    used = [aliases[name] for i in needed for name in sorted(cells[i].code.used & set(aliases))]
    return next(iter(own + used), None)


def _imports(tree: ast.Module) -> Iterable[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name.split(".")[0], alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, node.module or "") for alias in node.names)
