"""The package as a whole: documented names, a light import."""

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import jostle
from names import public_names

SOURCE = Path(jostle.__file__).parent
HEAVY = ("numba", "scipy", "matplotlib", "piqp", "h5py", "pydantic", "typer", "rich")
HEAVY += ("jostle.crowds", "jostle.models", "jostle.analysis", "jostle.theory")


def find(name):
    value = jostle
    for part in name.split("."):
        value = getattr(value, part)
    return value


def is_error(value):
    return isinstance(value, type) and issubclass(value, Exception)


@pytest.mark.parametrize("name", list(public_names()))
def test_every_public_name_says_what_it_is_and_shows_it(name):
    """A docstring, whose first line is a sentence; and an example, except for errors."""
    value = find(name)
    text = inspect.getdoc(value) or ""
    # dataclasses write a signature where there is no docstring
    assert text, f"{name} has no docstring"
    assert not text.startswith(f"{name.split('.')[-1]}("), f"{name} has only the docstring that a dataclass makes"
    assert is_error(value) or doctest.DocTestParser().get_examples(text), f"the docstring of {name} has no example"


def test_the_public_names_exist_once():
    assert len(jostle.__all__) == len(set(jostle.__all__))
    assert all(hasattr(jostle, name) for name in jostle.__all__)
    assert "models.rack" in set(public_names())


@pytest.mark.parametrize("module", [jostle, jostle.scenarios], ids=lambda module: module.__name__)
def test_completion_offers_the_public_names_and_modules_and_nothing_else(module):
    offered = [name for name in dir(module) if not name.startswith("__")]
    assert offered == sorted(module.__all__)
    hidden = {name for name in vars(module) if not name.startswith("_")} - set(module.__all__)
    assert [name for name in hidden if not inspect.ismodule(vars(module)[name])] == []
    own = {name for name, value in vars(module).items() if getattr(value, "__name__", "").startswith(module.__name__)}
    assert hidden <= own, "no module of another package"


def test_modules_that_are_imported_when_first_used_are_known_to_type_checkers():
    """Editors complete ``jo.crowds.`` without running anything."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    branches = [node for node in ast.walk(tree) if isinstance(node, ast.If) and isinstance(node.test, ast.Attribute)]
    assert [ast.unparse(node.test) for node in branches] == ["_typing.TYPE_CHECKING"]
    assert [alias.name for alias in branches[0].body[0].names] == list(jostle._LAZY)


def test_the_parts_have_a_page():
    assert jostle.crowds.__doc__
    assert jostle.models.__doc__
    assert jostle.analysis.__doc__
    assert jostle.theory.__doc__


def test_what_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'modles'"):
        jostle.modles  # noqa: B018


def test_every_error_is_one_of_ours_and_the_builtin_it_is():
    places = [(jostle, jostle.__all__), (jostle.errors, jostle.errors.__all__)]
    errors = [getattr(place, name) for place, names in places for name in names if is_error(getattr(place, name))]
    assert len(errors) >= 30
    for error in errors:
        if error is jostle.JostleError or issubclass(error, Warning):
            continue
        assert issubclass(error, jostle.JostleError)
        builtins = [base for base in error.__mro__ if base.__module__ == "builtins" and base not in (Exception, object)]
        assert any(issubclass(base, Exception) for base in builtins), f"{error.__name__} is no builtin error"


def test_the_import_is_light():
    """`import jostle` loads neither numba nor scipy nor matplotlib: they come when they are first used."""
    program = f"import sys, jostle; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_each_file_says_what_it_is():
    silent = [str(path) for path in SOURCE.rglob("*.py") if not path.read_text(encoding="utf-8").startswith('"""')]
    assert silent == []


def test_the_package_is_typed():
    assert (SOURCE / "py.typed").is_file()


def test_the_version_is_the_installed_one():
    from importlib.metadata import version

    assert version("jostle") == jostle.__version__
