"""Finds what a script asks only whether it is there: `if pod.spec.x`, `not e.value`, `e.value is None`. The transformer
calls it.

A masked value answers such a question as the value would, so the answer needs no note that the script saw a mask.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["find"]


def find(tree: ast.AST) -> dict[int, ast.expr]:
    """Returns the reads of fields and items whose value is asked for its truth, by their `id`."""
    return {id(read): read for node in ast.walk(tree) for test in _tests(node) for read in _reads(test)}


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
    match test:
        case ast.BoolOp(values=values):
            for value in values:
                yield from _reads(value)
        case ast.Attribute() | ast.Subscript() | ast.Call(func=ast.Attribute(attr="get")):
            yield test
