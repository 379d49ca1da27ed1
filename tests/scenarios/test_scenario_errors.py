"""What an error says: file and line, the key with its path, the value, what is allowed, the nearest spelling."""

import sys

import pytest

from jostle.errors import MissingPackage
from jostle.scenarios import ScenarioError, load, parse

FILE = """\
title = "discs"

[problem]
kind = "grains"
dimension = 2
n = 4
radii = 0.1
walls = [
    { kind = "box", lower = [0, 0], upper = [1, inf] },
]

[problem.start]
kind = "lattice"
lower = [0.0, 0.0]
upper = [1.0, inf]

[run]
t = 1.0
h = 0.01
"""

MISTAKES = [
    # (what is written, what stands there instead, the message)
    ("n = 4", "n = -4", 'my.toml:6: problem.n = -4: must be a whole number from 1 to 1000000'),
    ("n = 4", "n = 4.5", 'my.toml:6: problem.n = 4.5: must be a whole number from 1 to 1000000'),
    ("n = 4", "n = 1_000_000_000_000",
     'my.toml:6: problem.n = 1000000000000: must be a whole number from 1 to 1000000'),
    ("n = 4", 'n = "four"', 'my.toml:6: problem.n = "four": must be a whole number from 1 to 1000000'),
    ("n = 4\n", "", 'my.toml:3: problem.n: missing; set the number of grains'),
    ("h = 0.01\n", "", "my.toml:17: missing key 'h' in [run]: Time step (s)."),
    ("radii = 0.1", "radi = 0.1",
     "my.toml:3: missing key 'radii' in [problem]: Radius (m): one number, a list with one for each grain, { uniform = "
     '[smallest, largest] } or { mixture = [{ radius = ..., share = ... }, ...] }.\n'
     "my.toml:7: unknown key 'radi' in [problem]; did you mean 'radii'?"),
    ("radii = 0.1", "radii = [0.05, 0.1]",
     'my.toml:7: problem.radii = [0.05, 0.1]: must have one entry for each of the 4 grains, not 2; a range of radii is '
     '{ uniform = [smallest, largest] }'),
    ("radii = 0.1", "radii = { uniform = [0.1, 0.05] }",
     'my.toml:7: problem.radii.uniform = [0.1, 0.05]: must be [smallest, largest], in this order'),
    ("radii = 0.1", "radii = true",
     'my.toml:7: problem.radii = true: must be a positive number, a list of them, or { uniform = [from, to] }'),
    ('kind = "grains"', 'kind = "grain"',
     'my.toml:4: problem.kind = "grain": must be one of "cradle", "crowd", "crowd_density", "flow", '
     '"grains", "labyrinth"; '
     'did you mean "grains"?'),
    ("h = 0.01\n", 'h = 0.01\n\n[solver]\nkind = ""\n',
     'my.toml:22: solver.kind = "": must be one of "active_set", "automatic", "gauss_seidel", "interior_point"'),
    ('kind = "lattice"', 'kind = "lattice"\nlattice = "hexagonal"',
     'my.toml:14: problem.start.lattice = "hexagonal": must be one of "triangular", "square"'),
    ('{ kind = "box", lower = [0, 0], upper', '{ kind = "box", lower = [0, 0, 0], upper',
     'my.toml:9: problem.walls.0.lower = [0, 0, 0]: must have 2 numbers, one for each dimension, not 3'),
    ('kind = "box", lower = [0, 0], upper = [1, inf]', 'kind = "vessel", profile = [[1, 0], [1, 1]]',
     'my.toml:9: problem.walls.0.kind = "vessel": is available in dimension 3 only'),
    ("h = 0.01", "h = nan", 'my.toml:19: run.h = nan: must be a positive number'),
    ("t = 1.0", "t = 1e300", 'my.toml:18: run.t = 1e+300: must be a positive number, not larger than 1e+15'),
    ("h = 0.01", "h = 1e-14", 'my.toml:19: run.h = 1e-14: must be at least 1e-08: a run has at most 100000000 steps'),
    ("[run]", "run = 3\n[runs]",
     "my.toml:17: unknown key 'run' in [problem.start]; the keys are kind, lattice, loose, lower, upper\n"
     "my.toml:1: missing key 'run' in the file: Duration, time step, and what is saved.\n"
     "my.toml:18: unknown key 'runs' in the file; did you mean 'run'?"),
    ("[run]", "[scheme]\nkind = 'venel'\n[run]",
     'my.toml:18: scheme.kind = "venel": must be "maury", "gluey", "paoli" or "moreau_jean" for a problem of kind '
     '"grains"'),
    ("[run]", "[run]\nuntil = { kind = 'jammed' }",
     'my.toml:18: run.until.kind = "jammed": can be "jammed" only if the grains swell (problem.swelling)'),
    ("[problem]", "[scheme]\nkind = 'paoli'\n[problem]\ne = 0.5\nswelling = { rate = 1 }",
     'my.toml:7: problem.swelling: the scheme "paoli" cannot handle a moving set; use "moreau_jean"'),
    ("upper = [1, inf]", "upper = [1, inf], e = 1.5",
     'my.toml:9: problem.walls.0.e = 1.5: must be a number from 0 to 1'),
    ("lower = [0.0, 0.0]", "lower = [0.0, 'a']", 'my.toml:14: problem.start.lower.1 = "a": must be a number'),
    ("n = 4", "n = 4\nwaiting = 2",
     'my.toml:3: problem.sources: missing; 2 grains wait for a source'),
    ('title = "discs"', 'title = "discs', "my.toml:1: invalid TOML: Illegal character '\\n', at column 15"),
    ("[run]", "[problem]", 'my.toml:17: invalid TOML: Cannot declare (\'problem\',) twice, at column 9'),
]  # fmt: skip


def message(text, **options):
    with pytest.raises(ScenarioError) as error:
        parse(text, "my.toml", **options)
    return str(error.value)


def test_the_file_itself_is_right():
    assert parse(FILE, "my.toml").build().problem.q0.shape == (4, 2)


@pytest.mark.parametrize(("right", "wrong", "expected"), MISTAKES, ids=[m[1][:40] for m in MISTAKES])
def test_a_mistake_is_named_with_its_line_and_its_remedy(right, wrong, expected):
    assert FILE.count(right) == 1
    found = message(FILE.replace(right, wrong))
    assert sorted(found.splitlines()) == sorted(expected.splitlines())


def test_all_mistakes_of_a_file_are_listed_at_once_in_the_order_of_their_lines():
    text = FILE.replace("n = 4", "n = 0").replace("dimension = 2", "dimension = 4").replace("t = 1.0", 't = "1.0"')
    assert message(text) == (
        "my.toml:5: problem.dimension = 4: must be 2 or 3\n"
        "my.toml:6: problem.n = 0: must be a whole number from 1 to 1000000\n"
        'my.toml:18: run.t = "1.0": must be a positive number'
    )


def test_a_mistake_in_a_setting_names_the_setting():
    assert message(FILE, settings=["problem.n=x"]) == (
        "my.toml, setting 'problem.n=x': problem.n = \"x\": must be a whole number from 1 to 1000000"
    )
    assert message(FILE, settings=["problem.walls.1.kind=plane", "run.h", "title.a=1", "=3", "run.h=[1"]) == (
        "my.toml, setting 'problem.walls.1.kind=plane': problem.walls is a list with entries 0 to 0; it has no "
        "entry '1'\n"
        "my.toml, setting 'run.h': must be key=value, such as problem.n=200\n"
        "my.toml, setting 'title.a=1': title is neither a table nor a list\n"
        "my.toml, setting '=3': must be key=value, such as problem.n=200\n"
        "my.toml, setting 'run.h=[1': the value '[1' is neither TOML nor a word"
    )
    assert message(FILE, seed=-1) == "my.toml, setting 'seed=-1': seed = -1: must be a whole number from 0 to 2^63 - 1"
    assert message(FILE, settings=["title=1\n[other]"]).endswith("has more than one line")


def test_errors_of_the_library_are_handed_on_with_the_part_they_belong_to():
    def built(text):
        with pytest.raises(ScenarioError) as error:
            parse(text, "my.toml").build()
        return str(error.value)

    points = FILE.replace(
        'kind = "lattice"\nlower = [0.0, 0.0]\nupper = [1.0, inf]',
        'kind = "points"\npoints = [[0.2, 0.2], [0.25, 0.2], [0.5, 0.5], [0.8, 0.8]]',
    )
    assert built(points).startswith("my.toml:3: problem: q0 is not admissible: the gap of balls 0 and 1 is -1.50e-01")
    assert built(FILE.replace("n = 4", "n = 4000").replace("upper = [1.0, inf]", "upper = [1.0, 1.0]")).startswith(
        "my.toml:12: problem.start: there are places for 20 grains with radii up to 0.1, not for 4000"
    )
    crooked = FILE.replace(
        '{ kind = "box", lower = [0, 0], upper = [1, inf] },',
        '{ kind = "box", lower = [0, 0], upper = [1, inf] },\n'
        '    { kind = "polygon", corners = [[5, 5], [6, 5], [5.1, 5.1], [5, 6]] },',
    )
    assert built(crooked).startswith("my.toml:10: problem.walls.1: polygon 0 is not convex: it turns inwards at vertex")
    with pytest.raises(
        ScenarioError, match=r"^evacuation:\d+: problem.exits.0: exit 'east' .* does not lie on an edge"
    ):
        load("evacuation", settings=["problem.groups.0.n=3", "problem.rooms.0.corners.2.0=8.5"]).build()
    with pytest.raises(ScenarioError, match=r"^evacuation:\d+: problem.groups.0: no place was found for person"):
        load("evacuation", settings=["problem.groups.0.n=1000", "problem.groups.0.radius=1.0"]).build()


def test_who_cannot_build_says_why_the_library_refused():
    with pytest.raises(ScenarioError) as error:
        load("jamming", settings=["problem.n=4", "problem.radii=0.3"]).build()
    assert isinstance(error.value.__cause__, ValueError)


def test_many_mistakes_are_counted_not_listed():
    text = FILE + "\n".join(f"key{k} = 1" for k in range(80))
    lines = message(text).splitlines()
    assert len(lines) == 51
    assert lines[-1] == "... and 30 more"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = " + "[" * 5000 + "]" * 5000, "nested"),
        ("a" + ".a" * 3000 + " = 1", "nested deeper than 20 levels"),
        ("a = " + "[" * 100 + "]" * 100, "nested deeper than 20 levels"),
        ("a = " + "9" * 5000, "invalid TOML"),
        ("seed = 0x" + "f" * 5000, "must be a whole number"),
        ("title = '\ud800'", "contains an invalid Unicode character"),
        ("\ufefftitle = 'a'", "invalid TOML"),
        ("", "missing key 'problem' in the file"),
    ],
    ids=["lists", "keys", "some lists", "digits", "hexadecimal", "surrogate", "byte order mark", "nothing"],
)
def test_strange_texts_are_scenario_errors(text, words):
    assert words in message(text)


def test_settings_too_deep_are_refused():
    assert "nested deeper" in message(FILE, settings=["title=" + "[" * 60 + "]" * 60])
    assert "must be key=value" in message(FILE, settings=[".".join("a" * 100) + "=1"])
    assert "must be key=value" in message(FILE, settings=["title='\udcff'"])


def test_a_missing_package_is_no_fault_of_a_line_of_the_file(monkeypatch):
    monkeypatch.setitem(sys.modules, "shapely", None)
    with pytest.raises(MissingPackage, match=r"^floor plans and crowds need the package shapely\. To install it:\n"):
        load("evacuation").build()
