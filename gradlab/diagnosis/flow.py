"""Follows a value through Python's own names, in the source, where no tensor carries it.

`s = x.item(); k = 2 * s; y = torch.tensor(k)`: watch sees the value leave at the first statement and a tensor made
at the third. This module answers whether the names lead from one to the other.
"""

from __future__ import annotations

import ast
import functools
import linecache

from gradlab.diagnosis.places import Place

_FILLING = frozenset(("append", "extend", "add", "insert", "update", "put", "appendleft", "setdefault"))
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)


def leads(source: tuple[Place, ...], target: tuple[Place, ...]) -> bool:
    """Whether a value read at `source` flows by name into what was made at `target` (stacks, innermost first).

    Looked for in the innermost function that both stacks share.
    """
    for file, line in source:
        for other, goal in target:
            if file == other:
                tree = parsed(file)
                scope = scope_of(tree, line) if tree else None
                if scope is not None and scope is scope_of(tree, goal):  # type: ignore[arg-type]
                    return line == goal or _leads_within(scope, line, goal)
    return False


def statement_at(place: Place) -> ast.stmt | None:
    """The smallest statement that covers a place."""
    tree = parsed(place[0])
    if tree is None:
        return None
    found: ast.stmt | None = None
    for node in ast.walk(tree):
        covers = isinstance(node, ast.stmt) and node.lineno <= place[1] <= (node.end_lineno or node.lineno)
        if covers and (found is None or node.lineno >= found.lineno):  # type: ignore[attr-defined]
            found = node  # type: ignore[assignment]
    return found


def rebinds(place: Place) -> str | None:
    """The name that the statement at a place computes from itself, as in `w = w - 0.1 * w.grad`; else None."""
    statement = statement_at(place)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return None
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    read = names_in(statement.value)
    for name in (name for target in targets for name in names_in(target)):
        if name in read:
            return name
    return None


def assigned(place: Place) -> set[str]:
    """The names that the statement at a place assigns to."""
    statement = statement_at(place)
    return _written(statement) if statement is not None else set()


def names_in(node: ast.AST) -> set[str]:
    """Names and dotted names in a piece of code: `self.w` counts as one name."""
    found = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            found.add(each.id)
        elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
            found.add(f"{each.value.id}.{each.attr}")
    return found - {"self"}


@functools.lru_cache(maxsize=64)
def _parse(file: str, source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def parsed(file: str) -> ast.Module | None:
    """The syntax tree of a file or notebook cell, None when there is no readable source."""
    lines = linecache.getlines(file)
    return _parse(file, "".join(lines)) if lines else None


def scope_of(tree: ast.AST, line: int) -> ast.AST:
    """The innermost function around a line, or the whole module."""
    best: ast.AST = tree
    for node in ast.walk(tree):
        if not isinstance(node, _SCOPES[:2]) or not node.body[0].lineno <= line <= (node.end_lineno or line):
            continue
        if best is tree or node.lineno >= best.lineno:  # type: ignore[attr-defined]
            best = node
    return best


def _own_statements(scope: ast.AST) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    stack = list(getattr(scope, "body", []))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.stmt):
            found.append(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)) and not isinstance(node, _SCOPES):
                stack.append(child)
    return found


def _heads(statement: ast.stmt) -> list[ast.AST]:
    """The parts of a statement that are its own, without the statements inside it."""
    return [child for child in ast.iter_child_nodes(statement) if not isinstance(child, (ast.stmt, ast.ExceptHandler))]


def _covers(statement: ast.stmt, line: int) -> bool:
    parts = [part for part in _heads(statement) if hasattr(part, "lineno")]
    return any(part.lineno <= line <= (part.end_lineno or part.lineno) for part in parts)  # type: ignore[attr-defined]


def _written(statement: ast.stmt) -> set[str]:
    names: set[str] = set()
    for part in _heads(statement):
        for node in ast.walk(part):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
                names |= names_in(node.value) if isinstance(node, ast.Subscript) else names_in(node)
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", None) in _FILLING:
                names |= names_in(node.func.value)  # type: ignore[attr-defined]
    return names


def _read(statement: ast.stmt) -> set[str]:
    return set().union(*(names_in(part) for part in _heads(statement)))


@functools.lru_cache(maxsize=4096)
def _leads_within(scope: ast.AST, line: int, goal: int) -> bool:
    statements = _own_statements(scope)
    start = [s for s in statements if _covers(s, line)]
    ends = [s for s in statements if _covers(s, goal)]
    if any(s in ends for s in start):
        return True
    tainted = set().union(*(_written(s) for s in start)) if start else set()
    growing = bool(tainted)
    while growing:
        size = len(tainted)
        for statement in statements:
            if _read(statement) & tainted:
                tainted |= _written(statement)
        growing = len(tainted) > size
    return any(_read(s) & tainted for s in ends)
