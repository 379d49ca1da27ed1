"""Whatever stands in a file: it builds, or there is a `ScenarioError`; never another error, never a warning."""

import copy
import re
import tomllib
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jostle.scenarios import ScenarioError, load, names, parse
from jostle.scenarios.reading import SHIPPED
from jostle.scenarios.toml import document
from rows import examples

FEW = 8
WIDE = 0.5
HUGE = [10**12, 2**70, 10**400, -1, 0, 1e300, -1e300, 1e-300, 5e-324, 1e15, float("nan"), float("inf"), -float("inf")]
ODD = [
    True, "x", "", "grains", [], {}, [[]], [{}], [1, 2], [1.0, 2.0, 3.0], [[0, 0], [1, 1]], [float("nan")] * 2,
    [1e15, -1e15, 1e15], {"kind": "box"}, {"kind": "random"}, {"kind": "points", "points": [[0, 0], [1, 1]]},
    {"uniform": [0.01, 0.02]}, {"rate": 1e15}, {"amplitude": 1e15, "frequency": 1e15}, {"kind": "never"},
    {"a": {"b": {"c": {"d": [[[[[1]]]]]}}}},
]  # fmt: skip
KEYS = [
    "e", "n", "kind", "swelling", "shaken", "turning", "walls", "outlets", "sources", "waiting", "masses", "density",
    "gravity", "velocity", "period", "start", "until", "axis", "most", "every", "nonsense", "<one>", "",
    "towards", "speed", "cell", "closed", "blocks", "exits",
]  # fmt: skip
JARGON = ("pydantic", "http", "Input should", "validation error", "Traceback", "type=")
few = settings(deadline=None, max_examples=examples(80), suppress_health_check=[HealthCheck.too_slow])


def shipped(name):
    data = tomllib.loads((SHIPPED / f"{name}.toml").read_text(encoding="utf-8"))
    if "n" in data["problem"]:
        data["problem"]["n"] = min(FEW, data["problem"]["n"])
    if "cell" in data["problem"]:
        data["problem"]["cell"] = 0.25
    if name == "platform":  # its ways are found on a grid with a spacing that grows with the people
        for group in data["problem"]["groups"]:
            group.update(n=2, radius=WIDE)
    return data


def answered(read):
    """What `read` returns, built; None after a ScenarioError whose message is one for people."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            scenario = read()
            return scenario, scenario.build()
        except ScenarioError as error:
            refusal = error
    text = str(refusal)
    assert text
    assert all(refusal.problems)
    assert not any(word in text for word in JARGON)
    return None


def places(data, path=()):
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


@st.composite
def mutations(draw):
    """A shipped scenario, in small, with one to three keys deleted, replaced, doubled or added."""
    data = shipped(draw(st.sampled_from(names())))
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(list(places(data))))
        here = data
        for part in way:
            here = here[part]
        action = draw(st.sampled_from(["delete", "replace", "replace", "replace", "double", "add"]))
        value = copy.deepcopy(draw(st.sampled_from(HUGE) | st.sampled_from(ODD)))
        if action == "delete":
            del here[last]
        elif action == "replace":
            here[last] = value
        elif isinstance(here, list):
            here.append(copy.deepcopy(here[last]))
        elif action == "add":
            here[draw(st.sampled_from(KEYS))] = value
        if not data:
            break
    return data


@few
@given(mutations())
def test_a_scenario_with_something_changed_builds_or_says_what_is_wrong(data):
    text = document(data)
    found = answered(lambda: parse(text, "file"))
    if found is not None:
        scenario, run = found
        again = parse(scenario.text).build()
        start = "density" if run.is_density else "q0"
        assert getattr(again.problem, start).tobytes() == getattr(run.problem, start).tobytes()
        assert again[1:5] == run[1:5]


@st.composite
def tables(draw):
    """Tables with the words of scenarios in the wrong places."""
    words = st.sampled_from(
        ["problem", "run", "scheme", "solver", "output", "title", "seed", *KEYS, "radii", "t", "h", "tol", "corners"]
    )
    values = st.recursive(
        st.sampled_from([*HUGE, *ODD, "maury", "active_set"]) | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words | st.text(max_size=4), inner, max_size=5),
        max_leaves=15,
    )  # fmt: skip
    return draw(st.dictionaries(words | st.text(max_size=4), values, max_size=7))


@settings(few, max_examples=examples(60))
@given(tables())
def test_random_tables_are_answered(data):
    assert answered(lambda: parse(document(data), "file")) is None


@few
@given(st.text(alphabet=st.characters(), max_size=200))
def test_random_text_is_answered(text):
    assert answered(lambda: parse(text, "file")) is None


@few
@given(st.sampled_from(names()), st.data())
def test_a_file_with_a_piece_cut_out_or_put_in_is_answered(name, data):
    text = (SHIPPED / f"{name}.toml").read_text(encoding="utf-8").replace("n = 1000", "n = 8")
    text = text.replace("n = 500", "n = 8").replace("n = 400", "n = 8").replace("n = 300", "n = 8")
    if name == "platform":
        text = re.sub(r"(?m)^n = \d+$", f"n = 2\nradius = {WIDE}", text)
    begin = data.draw(st.integers(0, len(text)))
    end = begin + data.draw(st.integers(0, 40))
    piece = data.draw(st.sampled_from(["", "[", "]]", '"', "'''", "=", "\n", "{", ".", "inf", "\\", "\0", "9" * 20]))
    answered(lambda: parse(text[:begin] + piece + text[end:], "file"))


@few
@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda b: b'title = "' + b + b'"\n'))
def test_random_bytes_are_answered(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "bytes.toml"
    path.write_bytes(content)
    assert answered(lambda: load(path)) is None


@few
@given(st.text(max_size=30), st.text(max_size=20) | st.sampled_from(["1", "[1, 2]", "nan", "word", "'a'", "{ a = 1 }"]))
def test_random_settings_are_answered(key, value):
    for setting in (f"{key}={value}", f"problem.{key}={value}", f"problem.n={value}", f"run.until={value}", key):
        answered(lambda setting=setting: load("cradle_apart", settings=[setting]))


@few
@given(st.text(max_size=20))
def test_random_names_are_answered(name):
    if name in names():
        return
    with pytest.raises(ScenarioError):
        load(name)
    with pytest.raises(ScenarioError):
        load(f"{name}.toml") if "/" not in name else load("nowhere/" + name)


@pytest.mark.parametrize("name", [name for name in names() if "n" in shipped(name)["problem"]])
def test_a_million_million_bodies_are_refused_before_memory_is_taken(name):
    import tracemalloc

    load(name)
    tracemalloc.start()
    with pytest.raises(ScenarioError, match=r"problem.n = 1000000000000: must be a whole number"):
        load(name, settings=["problem.n=1_000_000_000_000"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * 2**20
