"""What a set class of a user declares is compared with what it does."""

import numpy as np
import pytest

import jostle as jo
from jostle.convex.linear_map import Dense, NormalRows
from jostle.schemes.checks import check_declaration, moved_row, moves


class Piston(jo.ConstraintSet):
    """x >= where(t), in a class that declares itself at rest."""

    moving = False
    convex_gaps = True

    def __init__(self, where):
        self.where = where

    def linearise(self, t, q, cutoff=np.inf):
        gap = np.array([q[0] - self.where(t)])
        return jo.sets.Contacts(gap, Dense(np.array([[1.0, 0.0]])), np.array([[0, -1]]), constraint_count=1)


class Floor(jo.ConstraintSet):
    """y >= speed t for each body, with the rows within the cutoff alone."""

    moving = False
    convex_gaps = True

    def __init__(self, speed):
        self.speed = speed

    def linearise(self, t, q, cutoff=np.inf):
        gap = q[:, 1] - self.speed * t
        rows = np.flatnonzero(gap <= cutoff)
        nobody = np.full(len(rows), -1)
        normal = np.tile([0.0, -1.0], (len(rows), 1))
        return jo.sets.Contacts(
            gap[rows],
            NormalRows(rows, nobody, normal, len(q)),
            np.stack([rows, nobody], axis=1),
            constraint_count=1,
            part_count=len(q),
        )


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean(), jo.Paoli()])
@pytest.mark.parametrize("beside", [False, True])
def test_a_class_that_declares_itself_at_rest_and_moves_is_refused(scheme, beside):
    piston = Piston(lambda t: 2.0 * t)
    within = piston & jo.HalfSpace([0, 1]) if beside else piston
    ball = jo.Motion(q0=[0.5, 0.0], within=within)
    said = r"step 1 .*constraint 0 of Piston is 0.5 at t = 0 and 0.3 at t = 0.1 .* declares moving = False: set moving"
    with pytest.raises(jo.InvalidValue, match=said):
        jo.solve(ball, scheme, t=1.0, h=0.1)


def test_a_set_that_starts_to_move_later_is_found_later():
    ball = jo.Motion(q0=[0.5, 0.0], within=Piston(lambda t: max(0.0, t - 0.55)))
    with pytest.raises(jo.InvalidValue, match=r"step 8 .* declares moving = False"):
        jo.solve(ball, jo.MoreauJean(), t=1.0, h=0.1)


@pytest.mark.parametrize("scheme", [jo.MoreauJean(), jo.Paoli()])
def test_a_flat_set_that_starts_to_move_is_found_between_free_flights(scheme):
    """A ball that touches nothing flies many steps at once, in which nothing is compared."""

    class Flat(Piston):
        flat = True

    ball = jo.Motion(q0=[0.5, 0.0], within=Flat(lambda t: max(0.0, t - 5.0)))
    with pytest.raises(jo.InvalidValue, match=r" declares moving = False"):
        jo.solve(ball, scheme, t=20.0, h=0.1)


def test_those_who_are_not_there_do_not_widen_the_comparison():
    class Counting(Floor):
        def linearise(self, t, q, cutoff=np.inf):
            self.cutoff = cutoff
            return super().linearise(t, q, cutoff)

    row, floor = np.stack([np.arange(100.0), np.full(100, 0.5)], axis=1), Counting(0.0)
    row[50:] += 1e6
    check_declaration((floor,), (0.0, 1.0), row, np.arange(100) < 50)
    assert floor.cutoff < 50.0


def test_many_bodies_are_compared_where_they_are_near():
    """A row that is beyond the cutoff at the start counts as moved; rows that are always beyond it are not compared."""
    row = np.stack([np.arange(100.0), np.full(100, 0.5)], axis=1)
    for speed, before in ((0.5, "0.5"), (-200.0, "above 9.9")):
        times = (0.0, 1.0) if speed > 0.0 else (1.0, 0.0)
        with pytest.raises(jo.InvalidValue, match=rf"of Floor is {before} at .* declares moving = False"):
            check_declaration((Floor(speed),), times, row, None)
    check_declaration((Floor(0.5),), (0.0, 1.0), row + np.array([0.0, 50.0]), None)
    with pytest.raises(jo.InvalidValue, match=r"step 1 .* declares moving = False"):
        jo.solve(jo.Motion(q0=row, within=Floor(0.5)), jo.Maury(), t=1.0, h=0.1)


def test_a_class_at_rest_runs_as_before():
    ball = jo.Motion(q0=[0.5, 0.0], v0=[-1.0, 0.0], within=Piston(lambda t: 0.0))
    sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.1)
    assert sol.q[-1] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_round_off_is_not_an_overlap():
    """A class that gives neither lengths nor the configuration: q = 0.3 and its wall differ by round-off."""

    class Wall(Piston):
        moving = None
        convex_gaps = None

    ball = jo.Motion(q0=[0.5, 0.0], within=Wall(lambda t: 2.0 * t))
    assert jo.solve(ball, jo.Maury(), t=1.0, h=0.1).q[-1] == pytest.approx([2.0, 0.0], abs=1e-12)
    behind = jo.Motion(q0=[0.1 * 3 - 1e-16, 0.0], within=Wall(lambda t: 0.1 + 0.2))
    assert jo.solve(behind, jo.Maury(), t=1.0, h=0.1).status == "finished"


def test_gaps_that_are_not_finite_do_not_hide_that_others_move():
    here = np.array([1.0, np.nan, np.inf, -np.inf])
    assert moved_row(here, here) is None
    assert moved_row(here, here + np.array([1e-12, 0, 0, 0])) is None
    assert moved_row(here, here + np.array([1e-3, 0, 0, 0])) == 0
    assert moved_row(here, np.array([1.0, 0.0, np.inf, -np.inf])) == 1
    assert moved_row(here, np.array([1.0, np.nan, 5.0, -np.inf])) == 2
    assert moved_row(here, here[:2]) == 2
    assert moved_row(here[:0], here[:0]) is None


def test_a_moving_wall_is_seen_beside_gaps_that_are_nan_or_infinite():
    """Paoli needs a set at rest: one gap without a value must not make it believe that the others rest."""

    class Rising(jo.ConstraintSet):
        convex_gaps = True

        def linearise(self, t, q, cutoff=np.inf):
            gap = np.array([q[0] - t, np.inf])
            return jo.sets.Contacts(gap, Dense(np.eye(2)), np.array([[0, -1], [0, -2]]), constraint_count=2)

    assert moves((Rising(),), (0.0, 0.1), np.array([1.0, 1.0]))


def test_a_function_returns_the_same_number_of_gaps_at_all_times():
    changing = jo.constraints(lambda t, q: q if t < 0.25 else q[:1])
    ball = jo.Motion(q0=[1.0, 1.0], within=changing, law=jo.Restitution(0.5))
    with pytest.raises(jo.InvalidValue, match=r"returned 2 gaps at t = 0\.2 and 1 at t = 0\.3"):
        jo.solve(ball, jo.Paoli(), t=1.0, h=0.1)


class Round(jo.ConstraintSet):
    """Outside (side = 1) or inside (side = -1) of a circle, in a class that declares its gap convex."""

    convex_gaps, moving = True, False

    def __init__(self, side, sign=1.0):
        self.side, self.sign = side, sign

    def linearise(self, t, q, cutoff=np.inf):
        distance = np.linalg.norm(q)
        gap, normal = np.array([self.side * (distance - 1.0)]), self.sign * self.side * q / distance
        return jo.sets.Contacts(gap, Dense(normal[None]), np.array([[0, -1]]), constraint_count=1, length=1.0)


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("case", ["a gradient of the wrong sign", "a gap that is not convex"])
def test_a_class_whose_gap_is_not_convex_or_whose_gradient_is_wrong_is_refused(case, beside):
    """The linearised constraint is kept, so neither the residual nor sol.overlap show it."""
    wrong = case == "a gradient of the wrong sign"
    Q = Round(1.0, -1.0) if wrong else Round(-1.0)
    within = Q & jo.HalfSpace([0.0, 1.0], -5.0) if beside else Q
    start = {"q0": [-2.0, 0.1], "v0": [1.0, 0.0]} if wrong else {"q0": [-0.9, 0.0], "v0": [0.0, 1.0]}
    said = r"constraint 0 of Round is -.* declares convex_gaps = True: correct the gradient G, or set convex_gaps"
    with pytest.raises(jo.LeftTheSet, match=said):
        jo.solve(jo.Motion(**start, within=within), jo.Maury(), t=1.9, h=0.1)


def test_a_gap_that_is_not_convex_is_found_in_the_last_step():
    """Gaps are compared with their linearisations in steps 1, 2, 4, 8 and so on; step 3 is the last one here."""
    drift = jo.Motion(q0=[-0.9, 0.0], v0=[0.0, 1.0], within=Round(-1.0))
    with pytest.raises(jo.LeftTheSet, match="declares convex_gaps = True") as raised:
        jo.solve(drift, jo.Maury(), t=0.45, h=0.15)
    assert raised.value.step == 3


def test_a_class_with_a_convex_gap_and_the_right_gradient_runs_as_before():
    sol = jo.solve(jo.Motion(q0=[-2.0, 0.1], v0=[1.0, 0.0], within=Round(1.0)), jo.Maury(), t=3.0, h=0.1)
    assert sol.status == "finished"
    assert min(np.linalg.norm(sol.q, axis=1)) >= 1.0 - 1e-8


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Venel()])
@pytest.mark.parametrize("gradient", [None, lambda t, q: -2.0 * q[None]])
def test_a_function_whose_gap_is_not_convex_although_it_was_said_to_be_is_refused(scheme, gradient):
    """The linearised constraint is kept, and sol.overlap would be 0."""
    bowl = jo.constraints(convex=True, gradient=gradient)(lambda t, q: [4.0 - q @ q])
    start = {"q0": [1.0, 1.0], "within": bowl}
    first = isinstance(scheme, jo.Venel)
    ball = jo.Sweeping(velocity=[-3.0, 0.5], **start) if first else jo.Motion(v0=[-3.0, 0.5], **start)
    with pytest.raises(jo.LeftTheSet, match=r"-[23]\.\d+e-02 .* convex=True was given: .*leave out convex=True"):
        jo.solve(ball, scheme, t=1.0, h=0.1)


def test_a_function_with_a_convex_gap_runs_in_the_same_bits_with_and_without_its_declaration():
    found = []
    for convex in (True, None):
        disc = jo.constraints(convex=convex)(lambda t, q: [np.linalg.norm(q) - 1.0])
        found.append(jo.solve(jo.Motion(q0=[-2.0, 0.1], v0=[1.0, 0.0], within=disc), jo.Maury(), t=3.0, h=0.1))
    np.testing.assert_array_equal(found[0].q, found[1].q)


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Paoli(), jo.MoreauJean(), jo.Venel(), jo.CatchingUp()])
def test_a_function_that_leaves_a_gap_out_where_bodies_went_is_refused(scheme):
    """Its body went through the floor, and the run finished with no overlap at all."""
    floor = jo.constraints(moving=False)(lambda t, q: q[1:] if q[1] > 1.0 else q[:0])
    start = {"q0": [1.0, 2.0], "within": floor}
    first = isinstance(scheme, jo.Venel | jo.CatchingUp)
    ball = jo.Sweeping(velocity=[0.0, -3.0], **start) if first else jo.Motion(v0=[0.0, -3.0], **start)
    with pytest.raises(jo.InvalidValue, match=r"constraint_count=0 at t = .* constraint_count=1 before.* large gap"):
        jo.solve(ball, scheme, t=1.0, h=0.1)


def test_a_set_is_not_described_in_steps_without_errors():
    """The text of a set with large arrays takes longer than a step."""
    asked = []

    class Wordy(jo.ConstraintSet):
        convex_gaps, moving = True, False

        def __repr__(self):
            asked.append(1)
            return "Wordy"

        def linearise(self, t, q, cutoff=np.inf):
            return jo.sets.Contacts(q[:1].copy(), Dense(np.eye(1, 2)), np.array([[0, -1]]), constraint_count=1, at=q)

    ball, found = jo.Motion(q0=[1.0, 0.0], v0=[-1.0, 0.0], within=Wordy()), []
    for steps in (2, 20):
        asked.clear()
        jo.solve(ball, jo.Maury(), t=0.1 * steps, h=0.1)
        found.append(len(asked))
    assert found[0] == found[1]


class SecondBall(jo.ConstraintSet):
    """The second ball stays above a floor."""

    convex_gaps, moving = True, False

    def linearise(self, t, q, cutoff=np.inf):
        G = np.zeros((1, *q.shape))
        G[0, 1, 1] = 1.0
        return jo.sets.Contacts(
            q[1:2, 1].copy(), Dense(G.reshape(1, -1)), np.array([[-1, 0]]), constraint_count=1, at=q
        )


@pytest.mark.parametrize("second", [SecondBall(), jo.constraints(convex=True, moving=False)(lambda t, q: [q[1, 1]])])
def test_declarations_are_compared_with_the_balls_of_a_clump(second):
    """A clump has one centre of mass and two balls; sets see the balls."""
    dumbbell = jo.Clumps([([[-1.0, 0.0], [1.0, 0.0]], 0.5)])
    falling = jo.Motion(q0=[[0.0, 0.5]], force=[0.0, -1.0], within=dumbbell & second)
    for scheme in (jo.Maury(), jo.MoreauJean()):
        assert jo.solve(falling, scheme, t=1.5, h=0.1).q[-1, 0, 1] < 0.1
