"""Small functions of jostle._tools and others, by their values."""

from __future__ import annotations

import numpy as np
import pytest

import jostle as jo
from jostle._tools import arguments, arrays, displays, plugins, suggestions
from jostle._tools.pickling import check_parts
from jostle._tools.smooth_paths import follow
from jostle.crowds import Gate
from jostle.result.recording import _first_root
from jostle.scenarios.messages import _unknown_key
from jostle.scenarios.scenario import RunTable, Scenario
from jostle.viz.floor_plans import _opening_times


def test_numbers_are_told_from_other_values():
    values = ([[1, 2.5], [True, 4]], "1", [1j], None, [1.0, None])
    assert [arguments.numbers(value) for value in values] == [True, False, False, False, False]
    assert [arguments.number(value) for value in (2, np.float32(0.5), "2", [1.0])] == [True, True, False, False]


def test_arguments_are_of_the_kinds_of_the_signature():
    @arguments.check_arguments
    def area(radius: float, *, many: int = 1) -> float:
        return 3.0 * radius**2 * many

    assert area(2.0, many=2) == 24.0
    with pytest.raises(jo.InvalidValue, match="radius must be a number, not '2'"):
        area("2")


def test_functions_are_described_by_their_parameters():
    two = lambda t, q: q  # noqa: E731
    assert (arguments.accepts(two, 2), arguments.accepts(two, 1), arguments.accepts(max, 5)) == (True, False, True)
    assert arguments.described(lambda t: 0.0) == "<lambda>(t)"
    assert arguments.described([1, "a"]) == "[1, 'a']"
    assert arguments._split("float | tuple[int | None, str]", "|") == ["float", "tuple[int | None, str]"]


def test_arrays_of_numbers():
    assert arrays.numbers([1, 2], "force").tolist() == arrays.floats([1, 2]).tolist() == [1.0, 2.0]
    with pytest.raises(jo.InvalidValue, match=r"what force\(t, q\) returned must be numbers, not None"):
        arrays.numbers(None, "what force(t, q) returned")
    assert arrays.shaped([0, 0, 4, 0], "corners", -1, 2).tolist() == [[0.0, 0.0], [4.0, 0.0]]
    q = np.zeros(2)
    assert arrays.place_of(q) is np
    assert arrays.to_host(q) is q


def test_smallest_and_largest_entries_and_products():
    three, none = np.array([3.0, 2.0]), np.zeros(0)
    assert (arrays.lowest(three, np.inf), arrays.lowest(none, 1.0), arrays.lowest(three, 0.0)) == (2.0, 1.0, 0.0)
    assert (arrays.highest(three, 0.0), arrays.highest(none, 1.0), arrays.highest(three, 4.0)) == (3.0, 1.0, 4.0)
    assert arrays.dot(np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([1.0, 2.0])).tolist() == [11.0, 2.0]
    assert arrays.squares(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [25.0, 0.0]


def test_results_are_shown_as_html():
    assert displays.plain([1, "<b>"]) == "<pre>[1, '&lt;b&gt;']</pre>"
    assert "ActiveSet" in displays.html(jo.project([-2.0, 1.0], jo.convex.Cone([[1.0, 0.0]])))


def test_the_part_that_cannot_be_pickled_is_named():
    with pytest.raises(jo.errors.NotPicklable, match=r"this list cannot be pickled, because its steps is a "):
        check_parts([], {"mass": 2.0, "steps": (0.1 * k for k in range(9))})


def test_similar_names_are_suggested():
    choices = ["maury", "paoli"]
    assert (suggestions.nearest("maurey", choices), suggestions.nearest("euler", choices)) == ("maury", "")
    assert suggestions.suggestion("maurey", choices, "see `jostle list`") == "did you mean 'maury'?"
    assert suggestions.suggestion("euler", choices, "see `jostle list`") == "see `jostle list`"
    assert _unknown_key(("run", "evry"), RunTable, Scenario, {}) == "unknown key 'evry' in [run]; did you mean 'every'?"


def test_classes_of_jostle_are_known():
    assert not plugins.is_of_jostle(3.0)
    assert plugins.is_of_jostle(plugins.Registry("jostle.shapes", "shape"))


def test_a_fall_is_followed_to_the_floor():
    falls = follow(
        lambda t, y: np.array([y[1], -10.0]),
        0.0,
        np.array([1.25, 0.0]),
        9.0,
        lambda t, y: y[:, :1],
        np.array([1e-14]),
        1.0,
    )
    assert (round(float(falls.t), 12), falls.crossed) == (0.5, 0)


def test_the_first_root_where_a_parabola_falls():
    c, b, a = np.array([[1.0, -1.0, 0.0, 1.0], [-2.0, -2.0, 1.0, 1.0], [0.0, 0.0, -2.0, 0.0]])
    assert _first_root(c, b, a).tolist() == [0.5, -0.5, 0.5, np.inf]


def test_opening_times_of_a_gate_in_words():
    gate = Gate("east", open=[(0.0, 30.0), (60.0, np.inf)], most=200)
    assert _opening_times(gate) == "open 0 to 30 s, from 60 s, for 200 people"
