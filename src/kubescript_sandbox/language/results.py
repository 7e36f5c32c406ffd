"""A script's result: makes the last statement return its value, and explains why there is none.

A script's value is that of its last expression statement. When an `if`, `with`, `try` or `match` comes last, it is that
of the last expression in it: `if __name__ == "__main__": main()` returns what main() returns. A loop has no value, and
neither has a final `print(…)`. compiler.py calls this module.
"""

from __future__ import annotations

import ast

__all__ = ["hint", "none_hint", "return_last"]


def return_last(body: list[ast.stmt]) -> bool:
    """Replaces the last expression statements by `return` statements. Returns whether there are any."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.Expr):
        if _is_print(last):
            return False
        body[-1] = ast.copy_location(ast.Return(last.value), last)
        return True
    returns = [return_last(block) for block in _blocks(last)]  # each block, not only the first
    return any(returns)


def _is_print(node: ast.Expr) -> bool:
    match node.value:
        case ast.Call(func=ast.Name(id="print" | "pprint")):
            return True
    return False


def _blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    match node:
        case ast.If():
            return [node.body, node.orelse]
        case ast.With():
            return [node.body]
        case ast.Try():
            return [node.orelse or node.body, *(handler.body for handler in node.handlers)]
        case ast.Match():
            return [case.body for case in node.cases]
    return []


def hint(body: list[ast.stmt]) -> str:  # noqa: PLR0911  one text per kind of statement
    """Returns a sentence on what the last statement is, and how to return a value instead."""
    if not body:
        return "the script is empty"
    last = body[-1]
    match last:
        case ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return _assignment(ast.unparse(target))
        case ast.For() | ast.While():
            return "the script ended with a loop; collect what you want in a list, and end with a line that names it"
        case ast.FunctionDef():
            return f"the script ended with a definition; end it with a line `{last.name}()` to return its value"
        case ast.ClassDef():
            return f"the script ended with the class `{last.name}`; end it with an expression to return its value"
        case ast.Import() | ast.ImportFrom():
            return "the script ended with an import; end it with an expression to return its value"
        case ast.If() | ast.With() | ast.Try() | ast.Match():
            kind = type(last).__name__.lower()
            if (inner := _last_of_branches(last)) is not None:
                return inner
            return f"no expression was reached in the final `{kind}`; end the script with an expression"
        case ast.Expr() if _is_print(last):
            return ""
    return "the script ended with a statement; end it with an expression to return its value"


def _last_of_branches(last: ast.stmt) -> str | None:
    """Returns the hint for the first branch; None when a branch ends with a value."""
    branches = [block for block in _blocks(last) if block]
    for branch in branches:
        end = branch[-1]
        if isinstance(end, ast.Expr) and not _is_print(end):
            return None
    return hint(branches[0]) if branches else None


_IN_PLACE = frozenset({"append", "extend", "insert", "sort", "reverse", "add", "update", "remove", "clear", "discard"})
"""Methods that change their object and return None."""


def none_hint(body: list[ast.stmt]) -> str:
    """Returns a sentence on why the last expression is None, and how to return a value."""
    match body:
        case [*_, ast.Expr(ast.Call(ast.Attribute(ast.Name(name), method)))] if method in _IN_PLACE:
            return f"`{name}.{method}(…)` changes `{name}` and gives None; end the script with a line `{name}`"
        case [*_, ast.Expr(ast.Call(ast.Name(name)))]:
            return f"`{name}(…)` gave None; end the function with `return`"
    return "the last expression is None"


def _assignment(target: str) -> str:
    """Returns the hint for a script that ends with an assignment."""
    return f"the script ended with an assignment to `{target}`; end it with a line `{target}` to return it"
