"""Names that a `class A[T]`, a `def f[T]` or a `type X[T]` has, where code is taken out of it.

The parameters are put onto the trees by hand, so that each Python that runs this can tell.
"""

from __future__ import annotations

import ast
from types import SimpleNamespace

import pytest

from pillion.rope_engine import flow
from pillion.rope_engine.evaluation import hoistable
from pillion.rope_engine.parameters import Needs
from pillion.rope_engine.places import Lines
from pillion.rope_engine.refusal import RefusedError
from pillion.rope_engine.selection import select


def selected(source, part, generic, kind="variable"):
    """The selection of a part of a source whose statement of that name has a `T`."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if getattr(node, "name", None) == generic:
            node.type_params = [SimpleNamespace(name="T")]
    begin = source.index(part)
    lines = Lines(source)
    return select(tree, source, lines, (begin, begin + len(part)), kind), lines


@pytest.mark.parametrize("head", ["class A(Base[list[T]]): pass", "class A(x=list[T]): pass"])
def test_a_name_outside_does_not_see_a_type_parameter(head):
    with pytest.raises(RefusedError, match="`T`, a type parameter"):
        hoistable(*selected(head, "list[T]", "A"))


def test_other_parts_of_a_head_get_a_name():
    assert hoistable(*selected("class A(Base[list[int]]): pass", "list[int]", "A")) == []


METHOD = """
class A:
    def go(self, x):
        return cast(T, x)
"""


def test_a_function_outside_is_given_a_type_parameter_of_a_class():
    selection, _ = selected(METHOD, "cast(T, x)", "A", "auto")
    assert Needs(selection, outside=True).arguments == ["x", "T"]
    assert Needs(selection, outside=False).arguments == ["x"]


FUNCTION = """
def go(x):
    y: list[T] = [x]
    z = cast(T, y)
    return z
"""


def test_lines_of_a_function_are_given_its_type_parameter():
    part = FUNCTION[FUNCTION.index("    y") : FUNCTION.index("    return")]
    selection, _ = selected(FUNCTION, part, "go", "auto")
    assert Needs(selection, outside=False).arguments == ["x", "T"]


def test_what_a_statement_reads_is_not_what_it_has_itself():
    tree = ast.parse("class A(Base[T, S]): pass\ndef f(x=T): return T")
    for node in tree.body:
        node.type_params = [SimpleNamespace(name="T")]
    assert flow.free_names(tree.body[0]) == {"Base", "S"}
    assert flow.free_names(tree.body[1]) == {"T"}
