"""Follows a value through Python's own names, in the source, where no tensor carries it.

`s = x.item(); k = 2 * s; y = torch.tensor(k)`: watch sees the value leave at the first statement and a tensor made
at the third. This module answers whether the names lead from one to the other.
"""

from __future__ import annotations

import ast
import functools
import linecache
from typing import Any

from gradlab.diagnosis.places import Place

_OF_TENSORS = frozenset(("data", "grad", "shape", "dtype", "device", "T", "mT"))
_FILLING = frozenset(("append", "extend", "add", "insert", "update", "put", "appendleft", "setdefault"))
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)


def leads(source: tuple[Place, ...], target: tuple[Place, ...]) -> bool:
    """Whether a value read at `source` flows by name into what was made at `target` (stacks, innermost first).

    Looked for in the innermost file that both stacks share, between their innermost lines in it.
    """
    goals: dict[str, int] = {}
    for file, line in target:
        goals.setdefault(file, line)
    for file, line in source:
        tree = parsed(file) if file in goals else None
        if tree is not None:
            return goals[file] in _reached(tree, line)
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
    if statement is None:
        return set()
    return {
        n.id
        for part in _heads(statement)
        for n in ast.walk(part)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


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


# -- names that hold a value, over a whole file -----------------------------------------------------------------------
#
# A key is (function or module, variable), (None, ".attribute") or (None, "returned by name"). Flow is followed without
# regard to order or to which object an attribute belongs to: enough to connect a value that left the tensors with a tensor
# that was made from a number, and asked only where watch has seen both.

Key = tuple[ast.AST | None, str]


@functools.lru_cache(maxsize=4096)
def _reached(tree: ast.Module, line: int) -> frozenset[int]:
    """The lines of the statements that read what the statement at `line` has computed, its own lines included."""
    statements = _statements(tree)
    functions: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions[node.name] = node
        elif isinstance(node, ast.ClassDef):
            functions[node.name] = next((f for f in node.body if _is_init(f)), None)
    start = [pair for pair in statements if _covers(pair[1], line)]
    tainted: set[Key] = set().union(*(_written(*pair) for pair in start))
    readers = list(start)
    size = -1
    while len(tainted) != size:
        size = len(tainted)
        for scope, statement in statements:
            if not _read(scope, statement, tree) & tainted:
                continue
            readers.append((scope, statement))
            tainted |= _written(scope, statement) | _handed_over(scope, statement, tree, functions, tainted)
    return frozenset(n for _, statement in readers for n in _lines(statement))


def _is_init(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "__init__"


def _statements(tree: ast.Module) -> list[tuple[ast.AST, ast.stmt]]:
    """Every statement with the function (or module) that it runs in."""
    found: list[tuple[ast.AST, ast.stmt]] = []
    stack: list[tuple[ast.AST, ast.AST]] = [(tree, child) for child in tree.body]
    while stack:
        scope, node = stack.pop()
        inner = node if isinstance(node, _SCOPES[:2]) else scope
        if isinstance(node, ast.stmt):
            found.append((scope, node))
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                stack.append((inner, child))
    return found


def _heads(statement: ast.stmt) -> list[ast.AST]:
    """The parts of a statement that are its own, without the statements inside it."""
    if isinstance(statement, (*_SCOPES[:2], ast.ClassDef)):
        return list(statement.decorator_list)  # type: ignore[attr-defined]
    return [child for child in ast.iter_child_nodes(statement) if not isinstance(child, (ast.stmt, ast.ExceptHandler))]


def _lines(statement: ast.stmt) -> set[int]:
    parts = [part for part in _heads(statement) if hasattr(part, "lineno")]
    return {n for part in parts for n in range(part.lineno, (part.end_lineno or part.lineno) + 1)}  # type: ignore[attr-defined]


def _covers(statement: ast.stmt, line: int) -> bool:
    return line in _lines(statement)


def _keys(scope: ast.AST, node: ast.AST) -> set[Key]:
    """Variables, attributes and called functions in a piece of code."""
    found: set[Key] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            found.add((scope, each.id))
        elif isinstance(each, ast.Attribute) and each.attr not in _OF_TENSORS:
            found.add((None, "." + each.attr))
        if isinstance(each, ast.Call):
            found.add((None, "returned by " + _name_of(each)))
    return found


def _name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _read(scope: ast.AST, statement: ast.stmt, tree: ast.Module) -> set[Key]:
    keys: set[Key] = set().union(*(_keys(scope, part) for part in _heads(statement)))
    return keys | {(tree, name) for where, name in keys if where is not None}


def _written(scope: ast.AST, statement: ast.stmt) -> set[Key]:
    """What a statement stores into: targets, containers that it fills, what its function returns."""
    found: set[Key] = set()
    if isinstance(statement, ast.Return):
        found.add((None, "returned by " + getattr(scope, "name", "")))
    for part in _heads(statement):
        for node in ast.walk(part):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add((scope, node.id))
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr not in _OF_TENSORS:
                found.add((None, "." + node.attr))
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                found |= _holder(scope, node.value)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FILLING:
                found |= _holder(scope, node.func.value)
    return found


def _holder(scope: ast.AST, node: ast.AST) -> set[Key]:
    """The variable or attribute whose inside is written to."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute) and node.attr not in _OF_TENSORS:
        return {(None, "." + node.attr)}
    return {(scope, node.id)} if isinstance(node, ast.Name) else set()


def _handed_over(
    scope: ast.AST, statement: ast.stmt, tree: ast.Module, functions: dict[str, Any], tainted: set[Key]
) -> set[Key]:
    """The parameters of functions of this file that a tainted argument is handed to."""
    found: set[Key] = set()
    for part in _heads(statement):
        for call in (node for node in ast.walk(part) if isinstance(node, ast.Call)):
            function = functions.get(_name_of(call))
            if function is None:
                continue
            names = [argument.arg for argument in function.args.args]
            names = names[1:] if names[:1] == ["self"] or isinstance(call.func, ast.Attribute) else names
            given = [*zip(names, call.args, strict=False), *((k.arg, k.value) for k in call.keywords)]
            for name, value in given:
                keys = _keys(scope, value)
                if name and (keys | {(tree, n) for where, n in keys if where is not None}) & tainted:
                    found.add((function, name))
    return found
