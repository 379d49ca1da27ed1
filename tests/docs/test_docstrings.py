"""Every public name documents its parameters and its result in the sections of numpydoc."""

import inspect

import pytest
from numpydoc.docscrape import NumpyDocString, get_doc_object
from numpydoc.validate import Validator, validate

import jostle
from names import public_names

OPEN = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
"""Parameters of a class without fields, whose `__new__` takes anything to refuse it in words."""
CHECKS = {"GL08", "PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT03", "YD01", "EX01"}
"""Docstring, every parameter with its type and a sentence, in order; the result; an example."""


def resolve(name):
    value = jostle
    for part in name.split("."):
        value = getattr(value, part)
    return value


def part_of(name):
    """The module of a public name, "" for those of jostle itself."""
    first, dot, _ = name.partition(".")
    return first if dot and inspect.ismodule(getattr(jostle, first)) else ""


def is_plain_class(value):
    """Errors and warnings are raised by the library: their parameters are their message."""
    return inspect.isclass(value) and issubclass(value, Exception)


def documented_names():
    """The public functions and classes, and the public methods that classes of the package define."""
    for name in public_names():
        value = resolve(name)
        if is_plain_class(value) or not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        yield name
        if inspect.isclass(value):
            for member, thing in vars(value).items():
                function = thing.__func__ if isinstance(thing, classmethod | staticmethod) else thing
                own = inspect.isfunction(function) and function.__module__.startswith("jostle")  # not pydantic's
                if own and not member.startswith("_"):
                    yield f"{name}.{member}"


class WithoutLines(Validator):
    """Line numbers are not needed, and numpydoc does not find those of lambdas and of decorated functions."""

    source_file_def_line = None

    def __init__(self, obj_name):
        super().__init__(get_doc_object(resolve(obj_name)))


def sections(value):
    """The names that a docstring lists under Parameters and under Attributes."""
    text = NumpyDocString(inspect.getdoc(value) or "")
    return {
        part: {name for entry in text[part] for name in entry.name.split(", ")} for part in ("Parameters", "Attributes")
    }


def complaints(name):
    """What numpydoc finds missing in one docstring; fields listed under Attributes count as documented parameters."""
    value = resolve(name)
    is_class, is_method = (
        inspect.isclass(value),
        inspect.isclass(resolve(name.rpartition(".")[0]) if "." in name else None),
    )
    kept = []
    for code, message in validate(name, WithoutLines)["errors"]:
        if code not in CHECKS or (code == "EX01" and is_method):
            continue
        if code == "GL08" and is_method and inspect.getdoc(value):
            continue  # help() and the pages show the docstring of the method that it overrides, which is checked itself
        if code == "PR01" and is_class:
            named = inspect.signature(value).parameters.items()
            given = {one for one, found in named if not one.startswith("_") and found.kind not in OPEN}
            bases = [base for base in value.__mro__ if base.__module__.startswith("jostle.")]
            missing = given.difference(
                *(sections(base)[part] for base in bases for part in ("Parameters", "Attributes"))
            )
            if not missing:
                continue
            message = f"undocumented: {sorted(missing)}"
        kept.append(f"{code} {message}")
    return kept


@pytest.mark.parametrize("part", sorted({part_of(name) for name in public_names()}))
def test_numpydoc_finds_every_parameter_and_result(part):
    found = {name: complaints(name) for name in documented_names() if part_of(name) == part}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
