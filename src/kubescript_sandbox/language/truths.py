"""Finds the values that a script only tests for presence: `if pod.spec.x`, `not e.value`, `any(e.value for e in env)`,
and `v = e.value` where `v` is only tested. The transformer calls it.

A masked value gives the same answer as the real one, so the script's answer needs no note that it saw a mask.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Final

__all__ = ["find"]

_FUNCTIONS: Final = frozenset({"bool", "any", "all"})
"""Built-in functions that only test their arguments."""


def find(tree: ast.AST) -> dict[int, ast.expr]:
    """Returns the reads of fields and items that are only tested for their truth, by `id`."""
    nodes = list(ast.walk(tree))
    # Attack: `def any(values)` of a script measures the values, and returns what it has measured.
    functions = _FUNCTIONS - _bound_names(nodes)
    tests = [test for node in nodes for test in _tests(node, functions)]
    names = _tested_names(nodes, tests)
    kept = [value for node in nodes for value in _find_stored(node, names)]
    found: dict[int, ast.expr] = {}
    for tested in (*tests, *kept):
        found.update((id(read), read) for read in _reads(tested, names))
    return found


def _bound_names(nodes: Collection[ast.AST]) -> set[object]:
    """Returns the names that a script may give a meaning of its own, anywhere in it."""
    reads = (ast.Attribute, ast.Constant, ast.Load)
    return {
        value
        for node in nodes
        if not isinstance(node, reads) and not isinstance(getattr(node, "ctx", None), ast.Load)
        for _, value in ast.iter_fields(node)
        if isinstance(value, str)
    }


def _tests(node: ast.AST, functions: Collection[str]) -> list[ast.expr]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
            return [test]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return [operand]
        case ast.Call(func=ast.Name(id=function), args=[argument], keywords=[]):
            return _tests_of_call(function, argument) if function in functions else []
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return [left]
        case ast.comprehension(ifs=tests):
            return tests
    return []


def _tests_of_call(function: str, argument: ast.expr) -> list[ast.expr]:
    if function == "bool":
        return [argument]
    if isinstance(argument, ast.GeneratorExp | ast.ListComp):
        return [argument.elt]
    return []


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    """Yields the values whose truth decides a test."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _operands(value)
    else:
        yield test


def _tested_names(nodes: Collection[ast.AST], tests: Collection[ast.expr]) -> set[str]:
    """Returns the names of variables that the script, in all of its scopes, reads in tests only."""
    tested = {id(operand) for test in tests for operand in _operands(test)}
    stored: set[str] = set()
    used: set[str] = set()
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                stored.add(name)
            case ast.Name(id=name, ctx=ast.Load()) if id(node) not in tested:
                used.add(name)
            case ast.AugAssign(target=ast.Name(id=name)):
                used.add(name)
            # A variable of a class is also a field of it, which other expressions read.
            case ast.ClassDef(body=body):
                used.update(_stores(body))
    return stored - used


def _stores(body: Collection[ast.stmt]) -> Iterator[str]:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _find_stored(node: ast.AST, names: Collection[str]) -> list[ast.expr]:
    """Returns the value that a node keeps in a variable that is only tested."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in names:
            return [value]
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name in names:
            return [value]
    return []


def _reads(test: ast.expr, names: Collection[str]) -> Iterator[ast.expr]:
    """Yields the reads of fields and items whose truth a test asks for."""
    for operand in _operands(test):
        match operand:
            case ast.Attribute() | ast.Subscript() | ast.Call(func=ast.Attribute(attr="get")):
                yield operand
            case ast.NamedExpr(target=ast.Name(id=name), value=value) if name in names:
                yield from _reads(value, names)
