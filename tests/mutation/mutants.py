"""Small faults in a module, one at a time: another comparison, operator, constant, condition or returned value."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

Change = Callable[[ast.AST], None]
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}


@dataclass(frozen=True)
class Mutant:
    """A module's source with one fault, and the fault in words."""

    source: str
    line: int
    fault: str


def draw_mutants(source: str, n: int, seed: int) -> list[Mutant]:
    """Return at most `n` mutants of a module, drawn at random from all that there are; a seed gives the same ones."""
    count = sum(1 for _ in _faults(ast.parse(source)))
    chosen = sorted(Random(seed).sample(range(count), min(n, count)))
    return [_make_mutant(source, number) for number in chosen]


def _make_mutant(source: str, number: int) -> Mutant:
    tree = ast.parse(source)
    for i, (node, change) in enumerate(_faults(tree)):
        if i == number:
            before = ast.unparse(node)
            change(node)
            return Mutant(ast.unparse(tree), node.lineno, f"{before}  ->  {ast.unparse(node)}")
    raise IndexError(number)


def _faults(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, Change]]:
    """Every place that can be changed, with the change; annotations and docstrings are not code."""
    ignored = _annotations_and_docstrings(tree)
    for node in ast.walk(tree):
        if id(node) in ignored:
            continue
        if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
            yield node, _change_comparison
        elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
            yield node, _change_operator
        elif isinstance(node, ast.BoolOp):
            yield node, _change_junction
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            yield node, _negate_condition
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            yield node, _change_constant
        elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
            yield node, _return_nothing


def _annotations_and_docstrings(tree: ast.Module) -> set[int]:
    ignored = set()
    for node in ast.walk(tree):
        parts = [getattr(node, name, None) for name in ("annotation", "returns")]
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts.append(node.value)
        for part in parts:
            if isinstance(part, ast.AST):
                ignored |= {id(child) for child in ast.walk(part)}
    return ignored


def _change_comparison(node: ast.AST) -> None:
    assert isinstance(node, ast.Compare)
    node.ops[0] = COMPARISONS[type(node.ops[0])]()


def _change_operator(node: ast.AST) -> None:
    assert isinstance(node, ast.BinOp | ast.AugAssign)
    node.op = OPERATORS[type(node.op)]()


def _change_junction(node: ast.AST) -> None:
    assert isinstance(node, ast.BoolOp)
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()


def _negate_condition(node: ast.AST) -> None:
    assert isinstance(node, ast.If | ast.IfExp | ast.While)
    node.test = ast.UnaryOp(ast.Not(), copy.copy(node.test))


def _change_constant(node: ast.AST) -> None:
    assert isinstance(node, ast.Constant)
    node.value = (not node.value) if isinstance(node.value, bool) else node.value + 1  # type: ignore[operator]


def _return_nothing(node: ast.AST) -> None:
    assert isinstance(node, ast.Return)
    node.value = ast.Constant(None)
