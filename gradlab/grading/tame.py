"""Which cells cannot have touched anything but names of their own.

An answer that is wrong after other cells ran in its process is run once more alone, in case they spoiled something. That
costs a fork. Most cells are a function and some arithmetic; when all that ran before is of that kind, the second run
would say the same. `is_tame` errs on the side of False: False only costs time.
"""

from __future__ import annotations

import ast
import builtins

_ALL_BUILTINS = frozenset(vars(builtins))
_MODULES = frozenset(("torch", "numpy", "math", "gradlab"))
_STATEMENTS = (
    ast.FunctionDef, ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.If, ast.For, ast.While, ast.With,
    ast.Pass, ast.Break, ast.Continue, ast.Import, ast.ImportFrom, ast.Raise, ast.Assert,
)  # fmt: skip
_BUILTINS = frozenset(
    "abs all any bool complex dict divmod enumerate filter float int isinstance len list map max min pow print range repr "
    "reversed round set sorted str sum tuple zip None True False Ellipsis ValueError TypeError RuntimeError".split()
)
_CHANGES_ITS_OBJECT = frozenset(
    "append clear copyto extend fill insert itemset partition pop popitem put putmask remove resize setdefault setflags "
    "shuffle sort update".split()
)
_SUSPECT = (
    "set",
    "use_",
    "enable",
    "disable",
    "register",
    "manual",
    "seed",
    "share",
    "load",
    "save",
    "from_file",
    "jit",
    "compile",
)
_SUSPECT_ROOMS = frozenset(
    "backends cpp ctypeslib f2py hub lib library multiprocessing ops overrides package random sys testing utils".split()
)


def is_tame(source: str) -> bool:
    """True when the code only defines functions, computes, and binds names: nothing that it could change outlives it.

    >>> is_tame("def back(g, x):\\n    return g * torch.cosh(x) ** -2"), is_tame("torch.tanh = None")
    (True, False)
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        return False
    return all(_is_tame_node(node) for node in ast.walk(tree))


def _is_tame_node(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return all(_is_tame_module(alias.name) for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return _is_tame_module(node.module or "") and all(_is_tame_name(alias.name) for alias in node.names)
    if isinstance(node, ast.FunctionDef):
        return not node.decorator_list and not node.name.startswith("__")
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, ast.Load) and _is_tame_name(node.attr)
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Load) or isinstance(node.value, ast.Name)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES_ITS_OBJECT:
        return isinstance(node.func.value, ast.Name)
    if isinstance(node, ast.Name):
        return not node.id.startswith("__") and (node.id not in _ALL_BUILTINS or node.id in _BUILTINS)
    return not isinstance(node, (ast.stmt, ast.Await, ast.Yield, ast.YieldFrom)) or isinstance(node, _STATEMENTS)


def _is_tame_module(name: str) -> bool:
    first, *rest = name.split(".")
    return first in _MODULES and all(map(_is_tame_name, rest))


def _is_tame_name(name: str) -> bool:
    if name.startswith("_saved_") or name == "_version":
        return True
    return (
        not name.startswith(("_", *_SUSPECT)) and name not in _SUSPECT_ROOMS and name not in ("*", "errstate", "seterr")
    )
