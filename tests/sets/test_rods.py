"""Rods and equalities as sets: gaps, gradients, starts, violations of either sign, intersections, files, refusals."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import jostle as jo
from jostle.result.recording import smallest_gap
from jostle.sets.nearest import _active
from rows import whole

PLACES = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]])
TRIANGLE = jo.Rods([(0, 1), (2, 1), (0, -2)], [5.0, 1.0, 2.0], points=[[9.0, 9.0], [0.0, -2.0]])
THREE = [[0, 1], [1, 2], [0, 2]]


def test_gaps_are_distances_less_lengths():
    moved = PLACES + np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.5]])
    contacts = TRIANGLE.linearise(0.0, moved)
    assert contacts.gap == pytest.approx([0.0, 0.5, 0.0])
    assert contacts.equal.tolist() == [True, True, True]
    assert [contacts.describe(row) for row in range(3)] == [
        "rod 0 between bodies 0 and 1", "rod 1 between bodies 2 and 1", "rod 2 between body 0 and point 1"
    ]  # fmt: skip
    assert TRIANGLE.gaps(0.0, moved) == pytest.approx(contacts.gap)


@pytest.mark.parametrize("copies", [1, 60], ids=["dense", "sparse"])
def test_gradients_are_those_of_the_gaps(copies):
    """Few rods have dense rows, many have sparse ones."""
    shift = 20.0 * np.arange(copies)
    pairs = np.concatenate([TRIANGLE.pairs[:2] + 3 * k for k in range(copies)])
    rods = jo.Rods(pairs, np.tile([5.0, 1.0], copies))
    q = np.concatenate([PLACES + x for x in shift]) + 0.1 * np.random.default_rng(0).normal(size=(3 * copies, 2))
    G = rods.linearise(0.0, q).G
    way = np.random.default_rng(1).normal(size=q.shape)
    difference = (rods.gaps(0.0, q + 1e-6 * way) - rods.gaps(0.0, q - 1e-6 * way)) / 2e-6
    assert G @ way.ravel() == pytest.approx(difference, abs=1e-6)
    p = np.random.default_rng(2).normal(size=len(pairs))
    assert G.adjoint(p) @ way.ravel() == pytest.approx(p @ (G @ way.ravel()))


def test_points_and_lengths_may_depend_on_time():
    lift = jo.Rods([(0, -1)], lambda t: 1.0 + t, points=lambda t: [[0.0, 3.0 * t]])
    assert lift.moving
    assert lift.gaps(2.0, np.array([[0.0, 0.0]])) == pytest.approx([3.0])
    bob = jo.Motion(q0=[[0.0, -1.0]], within=jo.Rods([(0, -1)], 1.0, points=lambda t: [[t, 0.0]]), force=[0.0, -10.0])
    sol = jo.solve(bob, jo.Maury(), t=3.0, h=0.01)
    assert sol.overlap < 2e-3
    with pytest.raises(jo.errors.SchemeRefuses, match="does not move"):
        jo.solve(bob, jo.Paoli(), t=1.0, h=0.01)


@pytest.mark.parametrize("y", [-1.1, -0.9])
def test_a_start_off_an_equality_is_refused_on_either_side(y):
    bob = jo.Motion(q0=[[0.0, y]], within=jo.Rods([(0, -1)], 1.0, points=[[0.0, 0.0]]))
    with pytest.raises(
        jo.InfeasibleStart, match=r"the gap of rod 0 between body 0 and point 0 is .?1\.00e-01.*nearest"
    ) as raised:
        jo.solve(bob, jo.Maury(), t=1.0, h=0.1)
    assert "must be zero" in str(raised.value)


def test_a_gap_of_either_sign_is_a_violation():
    rod = jo.Rods([(0, -1)], 2.0, points=[[0.0, 0.0]])
    for distance in (1.9, 2.1):
        q = np.array([[distance, 0.0]])
        assert rod.gap(0.0, q) == pytest.approx(-0.1)
        assert rod.overlap(0.0, q) == pytest.approx(0.05)
        assert (rod & jo.HalfSpace([0.0, 1.0], -9.0)).gap(0.0, q) == pytest.approx(-0.1)
        assert jo.nearest(q, rod).point == pytest.approx(np.array([[2.0, 0.0]]))


def test_the_saved_gaps_show_a_rod_that_is_too_long():
    bob = jo.Motion(q0=[[0.0, -1.0]], v0=[[1.0, 0.0]], within=jo.Rods([(0, -1)], 1.0, points=[[0.0, 0.0]]))
    sol = jo.solve(bob, jo.Maury(), t=1.0, h=0.1)
    length = np.linalg.norm(sol.q[:, 0], axis=1)
    assert sol.gaps() == pytest.approx(1.0 - length)
    assert length.max() > 1.004
    assert sol.overlap == pytest.approx(length.max() - 1.0)
    assert smallest_gap(bob, jo.schemes.State.of(0.0, sol.q[-1], sol.u[-1])) == pytest.approx(1.0 - length[-1])


def test_the_nearest_configuration_of_a_triangle_has_three_sides_of_length_one():
    rods = jo.Rods(THREE, 1.0)
    found = jo.nearest([[0.0, 0.0], [1.3, 0.1], [0.2, 1.4]], rods, mass=[1.0, 2.0, 3.0])
    assert rods.gaps(0.0, found.point) == pytest.approx(0.0, abs=1e-9)
    assert found.converged
    M = np.repeat([1.0, 2.0, 3.0], 2)
    moved = M * (found.point - [[0.0, 0.0], [1.3, 0.1], [0.2, 1.4]]).ravel()
    assert moved == pytest.approx(rods.linearise(0.0, found.point).G.adjoint(found.multipliers), abs=1e-7)


@pytest.mark.parametrize("w", [(3.0, 2.0), (0.5, 0.1), (-1.0, 3.0), (0.0, 0.4), (1.0, 0.0)])
def test_the_nearest_point_of_an_ellipse_is_found_from_either_side(w):
    """Also from an axis of symmetry, where the distance has a saddle."""
    ellipse = jo.constraints(lambda t, q: [q[0] ** 2 / 4.0 + q[1] ** 2 - 1.0], equal=True)
    angle = np.linspace(0.0, 2.0 * np.pi, 200_001)
    distance = np.hypot(2.0 * np.cos(angle) - w[0], np.sin(angle) - w[1])
    found = jo.nearest(w, ellipse)
    assert found.converged
    assert np.linalg.norm(found.point - w) == pytest.approx(distance.min(), abs=1e-6)
    assert ellipse.gaps(0.0, found.point) == pytest.approx([0.0], abs=1e-8)


def test_equalities_are_active_whatever_their_multipliers():
    contacts = (TRIANGLE & jo.HalfSpace([0.0, 1.0], -9.0)).linearise(0.0, PLACES)
    assert _active(np.array([-1.0, 0.0, 1.0, 0.0, 2.0, 0.0]), contacts).tolist() == [0, 1, 2, 4]


def test_in_an_intersection_contacts_stay_contacts():
    radii = np.full(60, 0.4)
    x = np.arange(60.0)
    Q = jo.Balls(radii) & jo.Rods([(i, i + 1) for i in range(59)], 1.0) & jo.HalfSpace([0.0, 1.0])
    contacts = Q.linearise(0.0, np.stack([x, np.full(60, 0.4)], axis=1), 0.5)
    rods = contacts.equal
    assert rods.sum() == 59
    assert sorted(contacts.G.others.tolist()) == np.flatnonzero(rods).tolist()
    assert len(contacts.G.contacts.i) == len(contacts.gap) - 59
    assert contacts.describe(int(np.flatnonzero(rods)[3])) == "rod 3 between balls 3 and 4"
    assert contacts.velocities(0.1).equal.tolist() == rods.tolist()
    assert contacts.positions(contacts.at).equal.tolist() == rods.tolist()
    assert contacts.cone().equal.sum() == 59  # whatever their gaps


def test_a_necklace_of_balls_falls_on_a_floor_without_overlaps():
    n, radius = 60, 0.4
    turn = np.linspace(0.0, 1.5 * np.pi, n)
    R = 0.5 / np.sin(turn[1] / 2.0)
    q0 = R * np.stack([np.cos(turn), np.sin(turn) + 1.0], axis=1) + [0.0, radius]
    rods = jo.Rods([(i, i + 1) for i in range(n - 1)], 1.0)
    within = jo.Balls(np.full(n, radius)) & rods & jo.HalfSpace([0.0, 1.0])
    sol = jo.solve(jo.Motion(q0=q0, force=[0.0, -9.81], within=within), jo.Maury(), t=1.0, h=0.01, every=20)
    balls = jo.Balls(np.full(n, radius)) & jo.HalfSpace([0.0, 1.0], radii=np.full(n, radius))
    assert min(balls.gap(0.0, q) for q in sol.q) > -1e-6
    assert sol.overlap < 0.02
    assert sol.impacts().pairs[:, 0].min() >= 0  # no rod among them


CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])


@pytest.mark.parametrize(
    "scheme", [jo.Maury(), jo.MoreauJean(), whole(jo.Paoli())], ids=lambda scheme: type(scheme).__name__
)
def test_a_frame_with_more_rods_than_it_needs_moves_as_a_whole(scheme):
    """28 rods between 8 bodies depend on each other; their errors of second order do not contradict each other."""
    i, j = np.triu_indices(8, k=1)
    rods = jo.Rods(np.stack([i, j], axis=1), np.linalg.norm(CUBE[j] - CUBE[i], axis=1))
    random = np.random.default_rng(0)
    v0, mass = 2.0 * random.normal(size=(8, 3)), random.uniform(0.5, 2.0, 8)
    within = rods & jo.HalfSpace([0.0, 0.0, 1.0], -0.5)
    thrown = jo.Motion(q0=CUBE, v0=v0, mass=mass, force=[0.0, 0.0, -9.81], within=within)
    sol = jo.solve(thrown, scheme, t=1.0, h=0.02)
    assert sol.q[-1][:, 2].min() < 0.5  # it has hit the floor
    assert max(rods.overlap(0.0, q) for q in sol.q) < 0.01


def test_rods_that_cannot_both_hold_are_named():
    """A body between two points, one of which goes away."""
    rods = jo.Rods([(0, -1), (0, -2)], 1.0, points=lambda t: [[-1.0, 0.0], [1.0 + t, 0.0]])
    with pytest.raises(jo.errors.EmptySet, match="rod 0 between body 0 and point 0; rod 1 between body 0 and point 1"):
        jo.solve(jo.Motion(q0=[[0.0, 0.0]], within=rods), jo.Maury(), t=1.0, h=0.01)


def test_a_triangle_whose_sides_become_too_short_does_not_go_on():
    rods = jo.Rods(THREE, lambda t: [1.0, 1.0, 1.0 + 2.0 * t])
    q0 = [[0.0, 0.0], [0.5, np.sqrt(0.75)], [1.0, 0.0]]
    with pytest.raises(jo.LeftTheSet, match=r"rod \d between bodies \d and \d.*cannot all hold") as raised:
        jo.solve(jo.Motion(q0=q0, within=rods), jo.Maury(), t=1.0, h=0.01)
    assert 0.5 < raised.value.time < 0.6


def test_a_step_that_is_longer_than_a_rod_is_an_error():
    bob = jo.Motion(q0=[[0.0, -1.0]], v0=[[50.0, 0.0]], within=jo.Rods([(0, -1)], 1.0, points=[[0.0, 0.0]]))
    with pytest.raises(jo.LeftTheSet, match="choose h below"):
        jo.solve(bob, jo.Maury(), t=1.0, h=0.1)


def test_a_start_velocity_across_a_rod_is_no_impact():
    """Equalities do not close: nothing is listed, and nobody is warned of impacts in the first step."""
    rod = jo.Rods([(0, -1)], 1.0, points=[[0.0, 0.0]])
    pulled = jo.Motion(q0=[[0.0, -1.0]], v0=[[0.5, 3.0]], within=rod, law=jo.Restitution(0.5))
    for scheme in (jo.MoreauJean(), jo.Paoli()):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sol = jo.solve(pulled, scheme, t=0.2, h=0.01)
        assert len(sol.impacts()) == 0


def test_a_start_velocity_across_a_rod_is_lost():
    """As by an impact at the start: the part of v0 along the rod has no effect, in any scheme."""
    rod = jo.Rods([(0, -1)], 1.0, points=[[0.0, 0.0]])
    for scheme in (jo.Maury(), jo.MoreauJean(), jo.Paoli()):
        across, along = (
            jo.solve(jo.Motion(q0=[[0.0, -1.0]], v0=v0, within=rod), scheme, t=0.3, h=2e-3).q[-1]
            for v0 in ([[1.0, -3.0]], [[1.0, 0.0]])
        )
        assert across == pytest.approx(along, abs=0.01)


WRONG = {
    "one number a rod": (lambda: jo.Rods([0, 1], 1.0), "two whole numbers for each rod"),
    "a body with itself": (lambda: jo.Rods([(2, 2)], 1.0), "another body"),
    "a point first": (lambda: jo.Rods([(-1, 0)], 1.0, points=[[0.0, 0.0]]), "the first must be a body"),
    "no points": (lambda: jo.Rods([(0, -1)], 1.0), "give points="),
    "too few points": (lambda: jo.Rods([(0, -3)], 1.0, points=[[0.0, 0.0]]), "k > 2"),
    "a length of zero": (lambda: jo.Rods([(0, 1)], 0.0), "must be positive"),
    "too few lengths": (lambda: jo.Rods([(0, 1)], [1.0, 2.0]), "1 rods and lengths of shape"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_rod_is_refused(name):
    make, words = WRONG[name]
    with pytest.raises(jo.InvalidValue, match=words.replace("(", r"\(")):
        make()


def test_a_rod_needs_bodies_that_exist_and_ends_apart():
    rods = jo.Rods([(0, 5)], 1.0)
    with pytest.raises(jo.InvalidValue, match="body 5"):
        rods.linearise(0.0, PLACES)
    with pytest.raises(jo.InvalidValue, match="shape"):
        rods.linearise(0.0, np.zeros(4))
    with pytest.raises(jo.errors.UndefinedGradient, match="rod 0 between bodies 0 and 1"):
        jo.Rods([(0, 1)], 1.0).linearise(0.0, np.zeros((2, 2)))


BOB = jo.Motion(q0=[[0.0, -1.0]], within=jo.Rods([(0, -1)], 1.0, points=[[0.0, 0.0]]), force=[1.0, -9.81])


def test_gluey_contacts_have_no_room_for_equalities():
    with pytest.raises(jo.errors.SchemeRefuses, match=r"Gluey has no room for equality constraints.*Maury"):
        jo.solve(BOB, jo.Gluey(), t=1.0, h=0.1)


def test_bodies_on_rods_cannot_come_and_go():
    rods = jo.Rods([(0, 1)], 1.0)
    gone = jo.Motion(q0=[[0.0, 0.0], [1.0, 0.0]], within=rods, present=[True, False])
    with pytest.raises(jo.InvalidValue, match="come and go"):
        jo.solve(gone, jo.Maury(), t=1.0, h=0.1)


def test_a_set_of_the_user_must_say_that_it_has_equalities():
    class Wire(jo.ConstraintSet):
        convex_gaps, moving = True, False

        def linearise(self, t, q, cutoff=np.inf):
            G = jo.convex.Polyhedron([[0.0, 1.0]], [0.0]).G
            return jo.sets.Contacts(q[1:], G, np.array([[-1, 0]]), constraint_count=1, at=q, equal=np.array([True]))

    with pytest.raises(jo.InvalidValue, match="equalities = True"):
        jo.solve(jo.Motion(q0=[0.0, 0.0], within=Wire()), jo.Maury(), t=1.0, h=0.1)
    Wire.equalities = True
    floor = Wire.linearise
    Wire.linearise = lambda self, *args: replace(floor(self, *args), equal=None)
    with pytest.raises(jo.InvalidValue, match="declares that its constraints are equalities"):
        jo.solve(jo.Motion(q0=[0.0, 0.0], within=Wire()), jo.Maury(), t=1.0, h=0.1)
    Wire.linearise = floor
    slide = jo.Motion(q0=[0.0, 0.0], v0=[1.0, 1.0], within=Wire())
    assert jo.solve(slide, jo.Maury(), t=1.0, h=0.1).q[-1] == pytest.approx([1.0, 0.0])


def test_an_equality_without_a_gradient_is_named():
    wire = jo.constraints(lambda t, q: [q[0] ** 2], equal=True)
    with pytest.raises(jo.errors.UndefinedGradient, match="of <lambda> is active"):
        wire.linearise(0.0, np.array([0.0, 1.0]))


def test_runs_with_rods_are_saved_and_resumed(tmp_path):
    path, kept = tmp_path / "double.vtkhdf", tmp_path / "double.npz"
    rods = jo.Rods([(0, -1), (0, 1)], 1.0, points=[[0.0, 0.0]])
    double = jo.Motion(q0=[[1.0, 0.0], [2.0, 0.0]], force=[0.0, -9.81], within=rods & jo.HalfSpace([0.0, 1.0], -1.5))
    whole = jo.solve(double, jo.Maury(), t=1.0, h=0.01)
    jo.solve(double, jo.Maury(), t=0.5, h=0.01, output=jo.io.Output(checkpoint=kept))
    resumed = jo.solve(double, jo.Maury(), t=1.0, h=0.01, output=jo.io.Output(checkpoint=kept, resume=True))
    assert np.array_equal(resumed.q[-1], whole.q[-1])
    jo.solve(double, jo.Maury(), t=0.5, h=0.01, output=jo.io.Output(path, contacts=True))
    read = jo.io.read(path, double)
    assert read.multipliers[20].min() < 0.0  # tension
    assert read.multipliers[20] == pytest.approx(whole.multipliers[20][whole.multipliers[20] != 0.0], rel=1e-6)
    assert read.gaps() == pytest.approx(whole.gaps()[: len(read.t)], abs=1e-6)


def test_the_length_of_a_rod_holds_at_the_next_midpoint_to_first_order():
    """g + h (G u' + dg/dt) = 0, g and G at the midpoint of the step, dg/dt at its end; the start loses what is across.

    The length is a parabola in time, whose rate the scheme knows to round-off.
    """
    rod = jo.Rods([(0, -1)], lambda t: 1.0 + 0.1 * t + 0.2 * t * t, points=[[0.0, 0.0]])
    h, bob = 0.1, jo.Motion(q0=[[0.0, -1.0]], v0=[[2.0, 3.0]], within=rod)
    sol, errors = jo.solve(bob, jo.MoreauJean(), t=1.0, h=h), []
    for t, q, u, after in zip(sol.t, sol.q, [np.array([[2.0, -0.1]]), *sol.u[1:-1]], sol.u[1:], strict=False):
        here = rod.linearise(t + h / 2.0, q + h / 2.0 * u)
        rate = here.G @ after.ravel() - (0.1 + 0.4 * (t + h))
        errors.append(float(here.gap[0]))
        assert here.gap + h * rate == pytest.approx([0.0], abs=1e-11)
    assert len(errors) == 10
    assert min(errors) > 1e-3


def lengths_of_free_rods(h, t):
    """The largest error of a length while three bodies on two rods spin and drift freely."""
    chain = jo.Motion(
        q0=[[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]],
        v0=[[0.3, -1.0], [0.3, 0.0], [0.3, 1.0]],
        within=jo.Rods([(0, 1), (1, 2)], [1.0, 1.0]),
    )
    return jo.solve(chain, jo.MoreauJean(), t=t, h=h, every=20).overlap


@pytest.mark.parametrize("t", [10.0, whole(20.0)])
def test_free_rods_do_not_lengthen_in_long_runs(t):
    short, long = lengths_of_free_rods(0.02, 4.0), lengths_of_free_rods(0.02, t)
    assert 0.0 < long <= 1.01 * short


@pytest.mark.whole
def test_errors_of_lengths_are_of_second_order():
    assert jo.analysis.order([0.04, 0.02, 0.01], [lengths_of_free_rods(h, 2.0) for h in (0.04, 0.02, 0.01)]).order > 1.9
