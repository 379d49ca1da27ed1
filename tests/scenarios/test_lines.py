"""The scanner finds the line of every key of a text that tomllib reads."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.scenarios.reading import SHIPPED
from jostle.scenarios.toml import document, lines
from rows import examples

TRICKY = """\
# [comment]
"a b".c = 1
x.y.z = '''
[not.a.table]
k = 1''' # and a # comment
s = "a \\" ] = # b"

[[list]]
one = [ # [
  "]", 2, # three
  [3,
   4],
]
[[list]]
two = { a = 1, "b.c" = [ {d = 2}, {e = 3} ] }
[list.inner]
deep = 1979-05-27 07:32:00
[[list.inner.again]]
q = \"\"\"
x = 1
\"\"\"\"\"
[last]
end = +1_0.5e3
"""


def paths(data, path=()):
    """Every key and entry."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from paths(value, (*path, key))


def in_order(value):
    """A text by which tables can be compared: NaN equals NaN, and the order of keys does not matter."""
    if isinstance(value, dict):
        return repr(sorted((key, in_order(inner)) for key, inner in value.items()))
    return repr([in_order(inner) for inner in value]) if isinstance(value, list) else repr(value)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a b", "c"), 2), (("x", "y", "z"), 3), (("s",), 6), (("list",), 8), (("list", 0), 8), (("list", 0, "one"), 9),
        (("list", 0, "one", 0), 10), (("list", 0, "one", 2, 1), 12), (("list", 1), 14), (("list", 1, "two", "a"), 15),
        (("list", 1, "two", "b.c", 1, "e"), 15), (("list", 1, "inner", "deep"), 17),
        (("list", 1, "inner", "again", 0, "q"), 19), (("last",), 22), (("last", "end"), 23),
    ],
)  # fmt: skip
def test_every_kind_of_key_is_found_on_its_line(path, line):
    assert lines(TRICKY)[path] == line


def test_no_key_is_missed_and_none_is_invented():
    found = lines(TRICKY)
    assert set(found) == set(paths(tomllib.loads(TRICKY)))


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.stem)
def test_the_keys_of_a_shipped_file_stand_where_the_scanner_says(path):
    text = path.read_text(encoding="utf-8")
    found = lines(text)
    assert set(found) == set(paths(tomllib.loads(text)))
    for keys, line in found.items():
        if isinstance(keys[-1], str):
            assert keys[-1] in text.splitlines()[line - 1]


KEYS = st.text(min_size=1, max_size=6) | st.sampled_from(["a", "b", "walls", "kind"])
VALUES = st.recursive(
    st.integers(-(2**60), 2**60) | st.floats() | st.booleans() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, max_examples=examples(100))
@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_what_is_written_is_read_again_and_every_key_has_a_line(data):
    text = document(data)
    assert in_order(tomllib.loads(text)) == in_order(data)
    assert set(lines(text)) == set(paths(data))


@settings(deadline=None, max_examples=examples(100))
@given(st.text(alphabet=st.sampled_from("a=[]{}\"'.,#\n\\ 1"), max_size=60))
def test_a_text_that_is_no_toml_ends_the_scanner_without_an_error(text):
    assert all(1 <= line <= text.count("\n") + 1 for line in lines(text).values())
