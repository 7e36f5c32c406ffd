"""Finds the values that a script only tests for presence: `if pod.spec.x`, `not e.value`, `e.value is None`. The
transformer calls it.

A masked value gives the same answer as the real one, so the script's answer needs no note that it saw a mask.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["find"]


def find(tree: ast.AST) -> dict[int, ast.expr]:
    """Returns the reads of fields and items that are only tested for their truth, by `id`."""
    found: dict[int, ast.expr] = {}
    for node in ast.walk(tree):
        for test in _tests(node):
            found.update((id(read), read) for read in _reads(test))
    return found


def _tests(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
            return [test]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return [operand]
        case ast.Call(func=ast.Name(id="bool"), args=[argument], keywords=[]):
            return [argument]
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return [left]
        case ast.comprehension(ifs=tests):
            return tests
    return []


def _reads(test: ast.expr) -> Iterator[ast.expr]:
    """Yields the reads of fields and items whose truth a test asks for."""
    match test:
        case ast.BoolOp(values=values):
            for value in values:
                yield from _reads(value)
        case ast.Attribute() | ast.Subscript() | ast.Call(func=ast.Attribute(attr="get")):
            yield test
