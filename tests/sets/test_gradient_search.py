"""Gradients by differences: right at every size of q and of g, in all units, and cheap once a step is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jostle as jo
from jostle.convex.linear_map import Dense
from jostle.sets.gradient_search import Differences
from rows import examples

CASES = {
    "a disc below": (lambda t, q: np.hypot(q[0], q[1] + 1.0) - 1.0, np.array([0.0, -1.0]), 1.0),
    "inside a disc beside": (lambda t, q: 1.0 - np.hypot(q[0] - 1.0, q[1]), np.array([1.0, 0.0]), -1.0),
    "inside a moving disc": (lambda t, q: 1.0 - np.hypot(q[0] - t, q[1]), np.array([1.0, 0.0]), -1.0),
}
"""The gap, the centre at t = 1, and the sign of the distance."""
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def exact(case, q):
    _, centre, sign = case
    return sign * (q - centre) / np.linalg.norm(q - centre)


def in_units(case, length, gap):
    """The same constraint with q in one unit and g in another."""
    return lambda t, q: [gap * case[0](t, q / length)]


@every_case
@settings(max_examples=examples(60), deadline=None)
@given(st.floats(-13.0, 3.0), st.floats(0.0, 6.3), st.floats(-9.0, 9.0), st.floats(-9.0, 9.0))
def test_the_gradient_is_right_at_every_size_and_in_all_units(case, size, angle, length, gap):
    q = 10.0**size * np.array([np.cos(angle), np.sin(angle)])
    if np.linalg.norm(q - case[1]) < 1e-3:
        return
    length, gap = 10.0**length, 10.0**gap
    Q = jo.constraints(in_units(case, length, gap))
    G = Q.linearise(1.0, length * q).G.toarray() * length / gap
    np.testing.assert_allclose(G, [exact(case, q)], atol=1e-8)


@every_case
@pytest.mark.parametrize("q", [[0.0, 0.0], [1e-9, 0.0], [0.0, 1e-9], [1e-12, 0.0], [1e-17, 1e-17], [1e-300, 0.0]])
def test_the_step_does_not_vanish_where_q_and_the_gap_do(case, q):
    Q = jo.constraints(lambda t, x: [case[0](t, x)])
    np.testing.assert_allclose(Q.linearise(1.0, np.array(q)).G.toarray(), [exact(case, np.array(q))], atol=1e-8)


@every_case
@pytest.mark.parametrize("q", [[0.0, 0.0], [1e-9, 0.0], [1e-12, 0.0], [1e-17, 1e-17], [0.3, 0.4]])
def test_a_correct_gradient_is_never_refused(case, q):
    Q = jo.constraints(gradient=lambda t, x: [exact(case, x)])(lambda t, x: [case[0](t, x)])
    np.testing.assert_array_equal(Q.linearise(1.0, np.array(q)).G.toarray(), [exact(case, np.array(q))])


def test_a_gradient_on_a_kink_is_not_refused_and_a_wrong_one_beside_it_is():
    """At q = 0 differences give the mean of both sides: they say nothing about the side that the user chose."""
    Q = jo.constraints(gradient=lambda t, q: [[1.0 if q[0] <= 0.0 else 7.0]])(lambda t, q: [max(q[0], 2.0 * q[0])])
    assert Q.linearise(0.0, np.array([0.0])).G.toarray().tolist() == [[1.0]]
    with pytest.raises(jo.InvalidValue, match=r"given as 7, differences give 2"):
        Q.linearise(0.0, np.array([0.5]))


@pytest.mark.parametrize("x", [10.0, 100.0, 999.5, 1000.0, 12345.6, 1e6])
@pytest.mark.parametrize("length", [0.1, 1.0, 10.0])
def test_a_wave_is_differenced_across_less_than_its_period_however_far_it_is_from_the_origin(x, length):
    """Beside it a constant, whose search goes on to the longest steps, and a straight line."""
    Q = jo.constraints(lambda t, q: [q[1] - 0.1 * length * np.sin(q[0] / length), 1.0, q[0] + 2e6])
    G = Q.linearise(0.0, np.array([x, 0.3])).G.toarray()
    noise = 1e-15 * x / length
    np.testing.assert_allclose(G, [[-0.1 * np.cos(x / length), 1.0], [0.0, 0.0], [1.0, 0.0]], atol=1e-8 + 1e2 * noise)


def test_a_right_gradient_of_a_wave_far_away_is_not_refused():
    def gradient(t, q):
        return [[-0.1 * np.cos(q[0]), 1.0]]

    Q = jo.constraints(gradient=gradient)(lambda t, q: [q[1] - 0.1 * np.sin(q[0])])
    q = np.array([1000.0, 0.3])
    np.testing.assert_array_equal(Q.linearise(0.0, q).G.toarray(), gradient(0.0, q))


class Counting:
    """A function that counts how often it is evaluated."""

    def __init__(self, g):
        self.g, self.calls = g, 0

    def __call__(self, t, q):
        self.calls += 1
        return self.g(t, q)


BOARD = np.array([[1.0, 1.0], [3.0, 2.0], [5.0, 1.0]])


@pytest.mark.parametrize(
    "g",
    [
        lambda t, q: [1.0 - np.hypot(q[0] - 1.0, q[1])],
        lambda t, q: np.concatenate([np.linalg.norm(q - BOARD, axis=1) - 0.5, q, [6.0, 4.0] - q]),
        lambda t, q: [np.linalg.norm(q - 1e5) - 1.0, 1e-6 * q[0] + 1.0],
        lambda t, q: [min(1.0, q[0] + 5.0), q[1] ** 2 + 1.0],
    ],
    ids=["a disc", "a board", "a far disc and a wall in other units", "a capped distance"],
)
def test_after_the_first_linearisation_two_evaluations_a_coordinate_are_enough(g):
    counted = Counting(g)
    Q = jo.constraints(counted)
    q = np.array([0.4, 0.3])
    Q.linearise(0.0, q)
    assert counted.calls <= 1 + 4 * 40
    counted.calls = 0
    for k in range(20):
        Q.linearise(0.0, q + 1e-3 * k)
    assert counted.calls == 20 * (1 + 2 * 2)


def test_a_step_that_does_not_serve_any_more_is_searched_for_again():
    """From the rim of a disc of radius 1 to one of radius 1e-6, which the step of the first would not see."""
    small = np.array([2.0, 2.0])
    g = lambda t, q: [np.linalg.norm(q) - 1.0, np.linalg.norm(q - small) - 1e-6]  # noqa: E731
    Q = jo.constraints(g)
    Q.linearise(0.0, np.array([1.0, 0.0]))
    q = small + 1e-6 * np.array([0.6, 0.8])
    expected = [q / np.linalg.norm(q), (q - small) / np.linalg.norm(q - small)]
    np.testing.assert_allclose(Q.linearise(0.0, q).G.toarray(), expected, atol=1e-6)


def test_a_run_has_the_same_bits_whatever_its_set_saw_before():
    Q = jo.constraints(lambda t, q: [np.hypot(q[0], q[1] + 1.0) - 1.0])
    fall = jo.Sweeping(q0=[0.3, 2.0], velocity=[0.0, -1.0], within=Q)
    first = jo.solve(fall, jo.Venel(), t=2.5, h=0.1)
    Q.linearise(0.0, np.array([1e5, 1e5]))
    assert jo.solve(fall, jo.Venel(), t=2.5, h=0.1).q.tolist() == first.q.tolist()


@pytest.mark.parametrize(
    ("g", "q", "G"),
    [
        (lambda t, q: [max(0.0, q[0] - 5.0)], [1.0], None),
        (lambda t, q: [abs(q[0])], [0.0], None),
        (lambda t, q: [q[0] ** 3], [0.0], None),
        (lambda t, q: [min(1.0, abs(q[0] - 9.0))], [1.0], 0.0),
        (lambda t, q: [t + 1.0], [0.0], 0.0),
        (lambda t, q: [q[0]], [0.0], 1.0),
        (lambda t, q: [max(q[0], 2.0 * q[0])], [0.0], 1.5),
        (lambda t, q: [np.hypot(q[0], 1.0) + 0.5 * q[0] - 1.0], [0.0], 0.5),
    ],
    ids=["constant and zero", "kink", "third power", "capped", "of time", "linear", "corner", "slope of the far field"],
)
def test_only_what_is_seen_at_q_counts(g, q, G):
    """Not the far field; and where a constraint is active and has no gradient, that is said."""
    Q = jo.constraints(g)
    if G is None:
        with pytest.raises(jo.errors.UndefinedGradient):
            Q.linearise(0.0, np.array(q))
    else:
        np.testing.assert_allclose(Q.linearise(0.0, np.array(q)).G.toarray(), [[G]], atol=1e-8)


def test_a_function_that_returns_its_own_buffer_is_differenced_all_the_same():
    buffer = np.zeros(1)

    def g(t, q):
        buffer[0] = 3.0 * q[0] - 1.0
        return buffer

    assert jo.constraints(g).linearise(0.0, np.array([2.0])).G.toarray()[0, 0] == pytest.approx(3.0, rel=1e-9)


def test_the_number_of_constraints_is_fixed():
    differences = Differences(lambda t, q: np.ones(1 + (q[0] > 1.0)))
    with pytest.raises(jo.InvalidValue, match="their number is fixed"):
        differences(0.0, np.array([1.0]), np.ones(1))


class Bowl(jo.ConstraintSet):
    """The inside of a unit disc, or its outside, with the gradient times a factor beyond x = 0.5."""

    def __init__(self, sign, factor):
        self.sign, self.factor = sign, factor

    def linearise(self, t, q, cutoff=np.inf):
        size = np.linalg.norm(q)
        G = self.sign * q[None] / size * [1.0, self.factor if q[0] > 0.5 else 1.0]
        gap = np.array([self.sign * (size - 1.0)])
        return jo.sets.Contacts(gap=gap, G=Dense(G), pairs=np.array([[0, -1]]), constraint_count=1, at=q)


def test_a_set_that_is_left_says_whether_its_gradient_or_its_shape_is_to_blame():
    falling = {"velocity": [0.0, -1.0]}
    wrong = jo.Sweeping(q0=[0.6, 2.0], within=Bowl(1.0, -1.0), **falling)
    with pytest.raises(jo.LeftTheSet, match=r"gradient is wrong: d/dq\[1\] .* correct the gradient of the set"):
        jo.solve(wrong, jo.Venel(), t=3.0, h=0.1)
    bowl = jo.Sweeping(q0=[-0.6, 0.0], within=Bowl(-1.0, 1.0), velocity=[0.5, -1.0])
    with pytest.raises(jo.LeftTheSet, match="convex in q; use CatchingUp"):
        jo.solve(bowl, jo.Venel(), t=3.0, h=0.1)
    right = jo.Sweeping(q0=[0.6, 2.0], within=Bowl(1.0, 1.0), **falling)
    assert jo.solve(right, jo.Venel(), t=3.0, h=0.1).status == "finished"


def test_a_step_that_was_found_on_a_plateau_is_not_used_beyond_it():
    """It may be so short that no gap changes there by more than its round-off."""
    ramp = Differences(lambda t, q: 1.0 + np.maximum(q - 10.0, 0.0))
    for q in (0.0, 12.0, -3.0):
        q = np.array([q])
        assert ramp(0.0, q, ramp.g(0.0, q)).item() == pytest.approx(float(q[0] > 10.0), abs=1e-9)
