"""Sets that users write: what they give is counted, and what they override is asked."""

import numpy as np
import pytest

import jostle as jo
from jostle.convex.linear_map import Dense, NormalRows

FLOOR = np.array([[0.0, 1.0]])


class TwoRows(jo.ConstraintSet):
    """A floor that forgets a gap from its third step on."""

    convex_gaps, moving = True, False

    def __init__(self):
        self.calls = 0

    def linearise(self, t, q, cutoff=np.inf):
        self.calls += 1
        gaps = np.array([q[1], q[1]])[: 2 if self.calls < 12 else 1]
        return jo.sets.Contacts(
            gaps, Dense(np.repeat(FLOOR, 2, axis=0)), np.array([[-1, 0], [-1, 1]]), constraint_count=2, at=q
        )


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Paoli(), jo.MoreauJean()])
def test_a_set_that_gives_fewer_gaps_than_gradients_is_an_error(scheme):
    fall = jo.Motion(q0=[0.0, 0.0], v0=[0.0, -1.0], within=TwoRows())
    with pytest.raises(jo.InvalidValue, match="a set gives 1 gaps, 2 gradients and 2 pairs"):
        jo.solve(fall, scheme, t=2.0, h=0.1)


class Higher(jo.HalfSpace):
    """A floor whose gaps are larger than those of its walls by one."""

    def linearise(self, t, q, cutoff=np.inf):
        found = super().linearise(t, q, np.inf)
        return jo.sets.Contacts(
            found.gap + 1.0, found.G, found.pairs, constraint_count=1, at=q, part_count=found.part_count
        )


def test_overlaps_are_those_of_the_gaps_that_a_class_gives():
    assert Higher([0.0, 1.0]).overlap(0.0, np.array([[0.0, -0.5]])) == 0.0
    assert jo.HalfSpace([0.0, 1.0]).overlap(0.0, np.array([[0.0, -0.5]])) > 0.0


def test_saved_normals_belong_to_their_frame_alone():
    floor = jo.HalfSpace([0.0, 1.0])
    ball = jo.Motion(q0=[0.0, 0.0], force=[0.0, -1.0], within=floor)
    sol = jo.solve(ball, jo.Maury(), t=0.5, h=0.1)
    with pytest.raises(ValueError, match="read-only"):
        sol.normals[-1][:] = 0.0
    again = jo.solve(ball, jo.Maury(), t=0.5, h=0.1)
    assert again.q[-1].tolist() == sol.q[-1].tolist()


class Plates(jo.ConstraintSet):
    """A floor of plates of length one, whose gradient is always the same map."""

    convex_gaps, moving, G = True, False, NormalRows(np.array([0]), np.array([-1]), -FLOOR, 1)

    def linearise(self, t, q, cutoff=np.inf):
        return jo.sets.Contacts(q[1:].copy(), self.G, np.array([[0, -1 - int(q[0])]]), constraint_count=4, at=q)


def test_saved_pairs_belong_to_their_frame_alone():
    slide = jo.Motion(q0=[0.5, 0.0], v0=[1.0, 0.0], force=[0.0, -1.0], within=Plates())
    sol = jo.solve(slide, jo.Maury(), t=3.0, h=1.0)
    assert [int(pairs[0, 1]) for pairs in sol.pairs[1:]] == [-1, -2, -3]


class NoNumber(jo.ConstraintSet):
    """A floor whose gap is no number below a height."""

    convex_gaps, moving = True, False

    def linearise(self, t, q, cutoff=np.inf):
        gap = np.array([q[1] if q[1] > 0.5 else np.nan])
        return jo.sets.Contacts(gap, Dense(FLOOR), np.array([[-1, 0]]), constraint_count=1, at=q)


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Paoli(), jo.MoreauJean()])
def test_a_gap_that_becomes_nan_is_an_error(scheme):
    """MoreauJean took it for an open contact, and the body fell through."""
    fall = jo.Motion(q0=[0.0, 1.0], v0=[0.0, -1.0], within=NoNumber())
    with pytest.raises(jo.errors.NotFinite, match="the gap of constraint 0 is NaN"):
        jo.solve(fall, scheme, t=2.0, h=0.1)


class Looser(jo.Balls):
    """Balls that may overlap by a whole unit."""

    def linearise(self, t, q, cutoff=np.inf):
        found = super().linearise(t, q, np.inf)
        return jo.sets.Contacts(
            found.gap + 1.0, found.G, found.pairs, constraint_count=0, at=q, part_count=found.part_count
        )


def test_overlaps_of_balls_are_those_of_the_gaps_that_a_class_gives():
    pressed = np.array([[0.0, 0.0], [0.5, 0.0]])
    assert Looser([0.5, 0.5]).overlap(0.0, pressed) == 0.0
    assert jo.Balls([0.5, 0.5]).overlap(0.0, pressed) == 1.0


def test_an_equality_is_a_set_whose_gaps_are_not_convex():
    circle = jo.constraints(lambda t, q: [np.hypot(*q) - 1.0], equal=True)
    assert circle.equalities
    assert circle.convex_gaps is False
    with pytest.raises(jo.InvalidValue, match="equal=True and convex=True exclude each other"):
        jo.constraints(equal=True, convex=True)(lambda t, q: [q[0]])


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Paoli(), jo.MoreauJean()])
def test_a_gradient_that_becomes_nan_is_an_error(scheme):
    """A gap with such a gradient counted as open, and the body fell through the floor."""

    class Floor(jo.ConstraintSet):
        convex_gaps, moving = True, False

        def linearise(self, t, q, cutoff=np.inf):
            G = Dense(np.array([[0.0, np.nan if q[1] < 0.5 else 1.0]]))
            return jo.sets.Contacts(q[1:].copy(), G, np.array([[0, -1]]), constraint_count=1, at=q)

    with pytest.raises(jo.errors.NotFinite, match="constraint 0 is not finite"):
        jo.solve(jo.Motion(q0=[0.0, 1.0], v0=[0.0, -1.0], within=Floor()), scheme, t=3.0, h=0.05)
