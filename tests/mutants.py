"""Small changes to a module's code: a comparison turned, a condition that always holds, a check that is left out."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType

OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


@dataclass(frozen=True)
class Mutant:
    """A module with one change, in one function."""

    module: ModuleType
    function: str
    tree: ast.Module
    name: str


def mutants_of(module: ModuleType) -> Iterator[Mutant]:
    """A mutant for each change that can be made; a name tells function, change and how many such came before it."""
    assert module.__file__
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    counts: dict[str, int] = {}
    for function in [node for node in tree.body if isinstance(node, ast.FunctionDef)]:
        for node in ast.walk(function):
            for text, change in changes(node):
                name = f"{module.__name__.rpartition('.')[2]}.{function.name}: {text}"
                counts[name] = counts.get(name, 0) + 1
                kept = copy.copy(node)
                change()
                mutated = ast.fix_missing_locations(copy.deepcopy(tree))
                become(node, kept)
                yield Mutant(module, function.name, mutated, f"{name}, {counts[name]}")


def changes(node: ast.AST) -> Iterator[tuple[str, Callable[[], object]]]:
    """What can be changed about a node, each with what to call it."""
    match node:
        case ast.Compare(left=_, ops=[operator, *others]):
            other = OPPOSITES[type(operator)]
            told = f"{type(operator).__name__} to {other.__name__} in {ast.unparse(node)}"
            yield told, partial(setattr, node, "ops", [other(), *others])
        case ast.BoolOp(op=operator):
            swapped = ast.Or() if isinstance(operator, ast.And) else ast.And()
            told = f"{type(operator).__name__} to {type(swapped).__name__} in {ast.unparse(node)}"
            yield told, partial(setattr, node, "op", swapped)
            for number, value in enumerate(node.values):
                left = [each for at, each in enumerate(node.values) if at != number]
                kept = left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
                yield f"without {ast.unparse(value)}", partial(become, node, kept)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            wrapped = ast.UnaryOp(ast.Not(), operand)
            yield f"{ast.unparse(node)} turned", partial(setattr, node, "operand", wrapped)
        case ast.If(test=test):
            for always in (ast.Constant(True), ast.Constant(False)):  # noqa: FBT003 - what the condition becomes
                yield f"always {ast.unparse(always)}: {ast.unparse(test)}", partial(setattr, node, "test", always)
        case ast.Expr(value=ast.Yield() | ast.YieldFrom() as said):
            empty = ast.YieldFrom(ast.Tuple([], ast.Load()))
            yield f"without {ast.unparse(said)}", partial(setattr, node, "value", empty)
        case ast.Call(func=ast.Name(id="any")):
            yield f"all, not {ast.unparse(node)}", partial(setattr, node, "func", ast.Name("all", ast.Load()))
        case ast.Call(func=ast.Name(id="all")):
            yield f"any, not {ast.unparse(node)}", partial(setattr, node, "func", ast.Name("any", ast.Load()))


def become(node: ast.AST, other: ast.AST) -> None:
    """Let a node be another one."""
    node.__class__ = other.__class__
    node.__dict__ = dict(other.__dict__)
