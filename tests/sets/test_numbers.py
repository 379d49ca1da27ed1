"""Constraints keep their identity: every set declares the numbers that it owns, and an intersection checks them."""

import numpy as np
import pytest

import jostle as jo
from jostle.contacts import by_pair
from jostle.convex.linear_map import Dense
from jostle.kernels.cpu import contacts


class Plane(jo.ConstraintSet):
    """normal . q >= 0, written as a user would; `declared` are the numbers that it says it owns."""

    moving = False

    def __init__(self, normal, declared, pair=(0, -1)):
        self.normal, self.declared, self.pair = np.array(normal, dtype=float), declared, pair

    def linearise(self, t, q, cutoff=np.inf):
        declared = self.declared(t) if callable(self.declared) else self.declared
        return jo.sets.Contacts(
            gap=np.array([self.normal @ q]),
            G=Dense(self.normal[None]),
            pairs=np.array([self.pair]),
            constraint_count=declared,
        )


def pressed_then_pulled(declared, pair=(0, -1)):
    """A body in a corner is pressed on the floor for a second and then pulled along it, away from the other wall."""
    within = Plane([1.0, 0.0], declared, pair) & Plane([0.0, 1.0], declared, pair)
    force = lambda t, q: [0.0, -1.0] if t < 1.0 else [1.0, 0.0]  # noqa: E731
    return jo.Motion(q0=[0.0, 0.0], force=force, within=within)


@pytest.mark.parametrize("pair", [(0, -1), (-1, 0)])
def test_the_glue_of_one_wall_does_not_hold_at_another(pair):
    """The floor holds the body down, the wall does not hold it back: it moves as it would alone, x = (t - 1)^2 / 2."""
    sol = jo.solve(pressed_then_pulled(1, pair), jo.Gluey(), t=3.5, h=0.1)
    assert sol.q[-1] == pytest.approx([3.25, 0.0], abs=1e-12)


@pytest.mark.parametrize("pair", [(0, -1), (-1, 0)])
def test_a_number_that_is_not_declared_is_refused(pair):
    with pytest.raises(
        jo.InvalidValue, match=r"Plane uses constraint number 0 .* constraint_count=0.*constraint_count=1"
    ):
        jo.solve(pressed_then_pulled(0, pair), jo.Gluey(), t=3.5, h=0.1)


@pytest.mark.parametrize("declared", [1.5, "1", None])
def test_a_count_that_is_no_whole_number_is_refused(declared):
    with pytest.raises(jo.InvalidValue, match=r"Plane must declare a whole number of constraints, not "):
        jo.solve(pressed_then_pulled(declared), jo.Gluey(), t=3.5, h=0.1)


def test_contacts_cannot_be_built_without_their_numbers():
    with pytest.raises(TypeError, match="constraint_count"):
        jo.sets.Contacts(np.zeros(1), Dense(np.eye(1)), np.array([[0, -1]]))


def test_a_set_that_declares_another_count_later_is_refused():
    """The numbers of the sets after it would shift, and with them the identity of their constraints."""
    with pytest.raises(jo.InvalidValue, match=r"constraint_count=2 at t = .* constraint_count=1 before") as raised:
        jo.solve(pressed_then_pulled(lambda t: 1 if t < 0.45 else 2), jo.Maury(), t=1.0, h=0.1)
    assert raised.value.step == 5


def test_two_rows_with_the_same_pair_are_refused_at_the_start():
    class Twice(Plane):
        def linearise(self, t, q, cutoff=np.inf):
            return jo.sets.Contacts(
                gap=q + 1.0, G=Dense(np.eye(2)), pairs=np.array([[0, -1], [0, -1]]), constraint_count=1
            )

    with pytest.raises(jo.InvalidValue, match=r"rows 0 .* and 1 .* have the same pair \[0, -1\]"):
        jo.solve(jo.Motion(q0=[0.0, 0.0], within=Twice([1.0, 0.0], 1)), jo.Maury(), t=1.0, h=0.1)


@pytest.mark.parametrize("hub", [0, 20_000])
def test_one_body_with_many_contacts_is_looked_up_like_any_other(hub):
    """No bucket of the table holds more than a few pairs, whichever side the hub is on."""
    others = np.setdiff1d(np.arange(20_001), [hub])
    pairs = np.sort(np.stack([np.full_like(others, hub), others], axis=1), axis=1)
    buckets = 1 << len(pairs).bit_length()
    filled = np.bincount([contacts._bucket.py_func(int(a), int(b), buckets) for a, b in pairs])
    assert filled.max() <= 128
    values = np.arange(len(pairs), dtype=float)
    assert by_pair(pairs, values, pairs[::-1]).tolist() == values[::-1].tolist()


class Counted(jo.ConstraintSet):
    """A floor that says nothing about its motion and counts how often it is asked."""

    def __init__(self):
        self.asked = 0

    def linearise(self, t, q, cutoff=np.inf):
        self.asked += 1
        gap, i = q[:, 1] - 0.5, np.arange(len(q))
        G = np.zeros((len(q), q.size))
        G[i, 2 * i + 1] = 1.0
        return jo.sets.Contacts(gap=gap, G=Dense(G), pairs=np.stack([i, -1 - 0 * i], axis=1), constraint_count=1, at=q)


@pytest.mark.parametrize("scheme", [jo.MoreauJean(), jo.Paoli()], ids=["MoreauJean", "Paoli"])
def test_only_the_sets_that_do_not_say_whether_they_move_are_asked(scheme, monkeypatch):
    """The gaps of all pairs of balls are never computed for it."""
    asked = []
    monkeypatch.setattr(jo.Balls, "gaps", lambda *args: asked.append(1))
    q0 = np.stack([1.5 * np.arange(70.0), np.full(70, 0.6)], axis=1)
    problem = jo.Motion(q0=q0, force=[0.0, -1.0], within=jo.Balls(np.full(70, 0.5)) & Counted())
    jo.solve(problem, scheme, t=0.05, h=0.01)
    assert asked == []


def test_a_set_alone_is_held_to_its_numbers_as_well():
    alone = jo.Motion(q0=[1.0, 1.0], within=Plane([0, 1], declared=0))
    with pytest.raises(jo.InvalidValue, match=r"Plane uses constraint number 0 .* declares constraint_count=0"):
        jo.solve(alone, jo.Maury(), t=0.1, h=0.01)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[7, -1]], "a row for body 7, and there are 2 bodies, 0 to 1"),
        ([[0, 2]], "a row for body 2, and there are 2 bodies, 0 to 1"),
        ([[0.0, -1.0]], r"two whole numbers for each row, shape \(m, 2\), not float64 of \(1, 2\)"),
        ([0], r"two whole numbers for each row, shape \(m, 2\), not int64 of \(1,\)"),
    ],
)
@pytest.mark.parametrize("beside", [None, jo.HalfSpace([0, 1])], ids=["alone", "beside a wall"])
def test_rows_that_name_nothing_are_an_error_that_names_the_set(pairs, message, beside):
    class Stray(jo.ConstraintSet):
        def linearise(self, t, q, cutoff=np.inf):
            return jo.sets.Contacts(np.ones(1), Dense(np.eye(1, 4)), np.array(pairs), constraint_count=1)

    two = jo.Motion(q0=[[0.0, 1.0], [3.0, 1.0]], within=Stray() if beside is None else Stray() & beside)
    with pytest.raises(jo.InvalidValue, match=message) as raised:
        jo.solve(two, jo.Maury(), t=0.1, h=0.01)
    assert "Stray" in str(raised.value)
