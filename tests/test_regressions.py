"""What once went wrong, each with the smallest program that showed it."""

import os
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

import jostle as jo
from jostle.convex.linear_map import Dense
from jostle.convex.metric import metric
from jostle.convex.residuals import residual
from jostle.kernels.parallel import threads
from rows import whole


@pytest.mark.each_value
@pytest.mark.parametrize(("n", "width"), [(5, 3), (4, 2), (20, 5)])
@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Paoli()], ids=["Maury", "Paoli"])
def test_equal_discs_may_fill_a_box_exactly(n, width, scheme):
    """A row that fills the width up to round-off is a toggle: its forces are huge, but each step still converges."""
    pile = jo.models.spheres(np.full(n, 0.5), box=([0, 0], [width, np.inf]))
    sol = jo.solve(pile, scheme, t=2.0, h=1e-2)
    assert sol.status == "finished"
    assert sol.gaps().min() >= -1e-9


@pytest.mark.parametrize("e", [0.5, whole(0.8), whole(1.0)])
def test_long_steps_leave_no_trace_in_the_short_ones_after_them(e):
    """Paoli with variable steps: the penetration is that of the steps at the impact, the velocity -e v."""
    ball = jo.Motion(q0=[1.0], v0=[-4.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(e))
    h = np.r_[np.full(2, 0.1), np.full(700, 1e-4)]
    sol = jo.solve(ball, jo.Paoli(), t=h.sum(), h=h)
    assert sol.q.min() >= -4.0 * 1e-4
    assert sol.u[-1, 0] == pytest.approx(4.0 * e, abs=1e-9)


def test_steps_may_shrink():
    h = 0.9 ** np.arange(1, 300)
    assert jo.solve(jo.Motion(q0=[0.0], v0=[1.0]), jo.Paoli(), t=h.sum(), h=h).q[-1, 0] == pytest.approx(h.sum())


def test_what_does_not_fit_is_refused_before_it_reaches_a_kernel():
    K = jo.convex.Cone([[1.0]])
    with pytest.raises(jo.InvalidValue, match="guess must be 1 finite number"):
        jo.project([-1.0], K, guess=np.ones(7), solver=jo.GaussSeidel())
    with pytest.raises(jo.InvalidValue, match="guess must be"):
        jo.project([-1.0], K, guess=np.array([np.nan]), solver=jo.GaussSeidel())
    with pytest.raises(jo.InvalidValue, match="not one of 0 to 1"):
        jo.convex.NormalRows(np.array([0]), np.array([5]), np.ones((1, 1)), bodies=2)
    with pytest.raises(jo.InvalidValue, match="one row per contact"):
        jo.convex.NormalRows(np.array([0]), np.array([1, 1]), np.ones((1, 1)), bodies=2)
    with pytest.raises(jo.InvalidValue, match="mass is a metric of 2 coordinates"):
        jo.ActiveSet().project([-1.0], K, metric(1.0, (2,)))


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("factor", [1.0, 1e8])
def test_a_distant_row_does_not_spoil_the_gradients_of_the_others(far, factor):
    board = jo.constraints(lambda t, q: [factor * (np.linalg.norm(q) - 1.0), far - q[0]])
    q = np.array([-0.6, 0.8])
    G = board.linearise(0.0, q).G.toarray()
    np.testing.assert_allclose(G, [factor * q, [-1.0, 0.0]], rtol=1e-7, atol=1e-7 * factor)


def test_a_small_obstacle_far_from_the_origin_has_its_gradient():
    centre = np.array([1e5, 1e5])
    disc = jo.constraints(lambda t, q: [np.linalg.norm(q - centre) - 1.0])
    G = disc.linearise(0.0, centre + np.array([-0.6, 0.8])).G.toarray()
    np.testing.assert_allclose(G, [[-0.6, 0.8]], atol=1e-5)


class InsideEllipse(jo.ConstraintSet):
    """A set of a user who says nothing about convexity: the gap is concave."""

    def linearise(self, t, q, cutoff=np.inf):
        x = q / [2.0, 1.0]
        size = np.linalg.norm(x)
        gradient = -(x / [2.0, 1.0] / size)[None]
        return jo.sets.Contacts(np.array([1.0 - size]), Dense(gradient), np.array([[0, -1]]), constraint_count=1, at=q)


class Piston(jo.ConstraintSet):
    """A set of a user who says nothing about motion: q >= t."""

    def linearise(self, t, q, cutoff=np.inf):
        return jo.sets.Contacts(q - t, Dense(np.eye(1)), np.array([[0, -1]]), constraint_count=1, at=q)


def test_nothing_is_assumed_of_a_set_that_does_not_say_it():
    with pytest.raises(jo.LeftTheSet):
        jo.solve(jo.Motion(q0=[1.0, 0.0], v0=[1.0, 1.0], within=InsideEllipse()), jo.Maury(), t=3.0, h=0.1)
    with pytest.raises(jo.errors.SchemeRefuses, match="does not move"):
        jo.solve(jo.Motion(q0=[0.5], within=Piston()), jo.Paoli(), t=3.0, h=0.1)


def test_a_set_that_begins_to_move_later_is_refused_when_it_does():
    late = jo.constraints(lambda t, q: [q[0] - max(0.0, t - 1.0)])
    with pytest.raises(jo.errors.SchemeRefuses) as raised:
        jo.solve(jo.Motion(q0=[0.5], within=late), jo.Paoli(), t=3.0, h=0.1)
    assert 10 <= raised.value.step <= 11
    promised = jo.constraints(moving=False)(lambda t, q: [q[0]])
    assert jo.solve(jo.Motion(q0=[0.5], within=promised), jo.Paoli(), t=1.0, h=0.1).status == "finished"


def test_a_set_that_begins_to_move_later_pushes_when_it_does():
    """It hits a point at rest at t = 1.5 with velocity 1, and e = 0.5 makes that 1.5."""
    late = jo.constraints(lambda t, q: [q[0] - max(0.0, t - 1.0)])
    sol = jo.solve(jo.Motion(q0=[0.5], within=late, law=jo.Restitution(0.5)), jo.MoreauJean(), t=2.0, h=0.01)
    assert sol.u[-1] == pytest.approx([1.5], abs=1e-9)


def test_a_point_on_a_plane_touches_it():
    """Without a length, contact is judged by the size of the coordinates."""
    contacts = jo.HalfSpace([1, 1], 0.3).linearise(0.0, np.array([0.1, 0.2]))
    assert 0.0 < contacts.gap[0] < 1e-15
    assert jo.impact([-1.0, -1.0], contacts.cone()).velocity == pytest.approx([0.0, 0.0], abs=1e-15)


def test_the_nearest_point_is_no_saddle_although_it_is_near():
    """|q| >= 1 from (0, 0.95) with masses 1 and 100: going sideways is cheaper than going straight."""
    P = jo.nearest([0.0, 0.95], jo.Outside([0.0, 0.0], 1.0), mass=[1.0, 100.0])
    x, y = P.point
    assert x**2 + 100.0 * (y - 0.95) ** 2 < 0.1


def test_a_large_impact_is_judged_by_the_tolerance_of_its_solver():
    """450 contacts of a lattice of spheres, all approaching, e = 1/2: admissible, and no warning."""
    cell = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]) / np.sqrt(2.0)
    corners = np.stack(np.meshgrid(*[np.arange(3)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3) * np.sqrt(2.0)
    q = (corners + cell).reshape(-1, 3)
    cone = jo.Balls(np.full(len(q), 0.5)).linearise(0.0, q, cutoff=1e-9).cone()
    assert cone.G.shape[0] > 300
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hit = jo.impact(q.mean(axis=0) - q, cone, law=jo.Restitution(0.5))
    assert hit.approaching
    assert hit.admissible


def test_an_argument_with_a_default_is_not_the_velocity():
    spring = jo.Motion(q0=[1.0], force=lambda t, q, k=4.0: -k * q)
    assert jo.solve(spring, jo.Paoli(), t=1.0, h=4e-3).q[-1, 0] == pytest.approx(np.cos(2.0), abs=1e-5)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: jo.Motion(q0=[1.0], force=lambda q: -q), r"\(t, q\) or \(t, q, u\), not <lambda>\(q\)"),
        (lambda: jo.Sweeping(q0=[1.0], velocity=lambda q: -q), r"function of \(t, q\)"),
        (lambda: jo.Motion(q0=[1.0], law=0.8), r"jo\.Restitution\(0\.8\)"),
        (lambda: jo.Motion(q0=[1.0], law=jo.Restitution), "impact law"),
        (lambda: jo.Motion(q0=[1.0], within=lambda t, q: q), "@jo.constraints"),
        (lambda: jo.Motion(q0=[1.0], within=[jo.Free()]), "Q1 & Q2"),
        (lambda: jo.Motion(q0=[1.0], within=jo.HalfSpace), "not its class"),
        (lambda: jo.Free() and jo.Free(), "Q1 & Q2, not Q1 and Q2"),
        (lambda: jo.Maury(solver=jo.ActiveSet), r"jo\.ActiveSet\(\)"),
        (lambda: jo.Restitution([0.5, 0.8]), r"\[0, 1\]"),
        (lambda: jo.solve(jo.Motion(q0=[1.0]), jo.Paoli, t=1.0, h=0.1), "with parentheses"),
        (lambda: jo.solve(jo.Motion(q0=[1.0]), jo.Paoli(), t=np.linspace(0, 1, 5), h=0.1), "not 5 times"),
        (lambda: jo.solve(jo.Motion(q0=[1.0]), jo.Paoli(), t=[1.0], h=0.1), "not 1 times"),
        (lambda: jo.crowds.Room([(0, 0), (1, 0), (1, 1), (0, 1)], doors=[]), "needs at least one door"),
        (lambda: jo.crowds.Room([(0, 0), (1, 0), (1, 1), (0, 1)], doors=[((1, 0.5), (1, 1.5))]), "does not lie"),
    ],
)
def test_likely_mistakes_get_a_sentence(make, says):
    with pytest.raises(jo.InvalidValue, match=says):
        make()


def test_a_user_cannot_change_the_state_by_accident():
    def force(t, q):
        q *= 0.0
        return q

    with pytest.raises(ValueError, match="read-only"):
        jo.solve(jo.Motion(q0=[1.0], force=force), jo.Maury(), t=1.0, h=0.1)
    w = np.array([1.0])
    assert jo.project(w, jo.convex.Cone([[1.0]])).point is not w


def test_a_stiff_diagonal_matrix_is_the_diagonal_it_is():
    K, w = jo.convex.Cone([[1.0, 1.0]]), [-1.0, -2.0]
    as_matrix, as_vector = (jo.project(w, K, mass=m).point for m in (np.diag([1e9, 1e-9]), [1e9, 1e-9]))
    np.testing.assert_allclose(as_matrix, as_vector, rtol=1e-12)


def test_emptiness_does_not_depend_on_the_unit_of_mass():
    K = jo.convex.Polyhedron([[1.0], [-1.0]], [-1e-2, 0.0], length=1.0)
    for mass in (1e-8, 1.0, 1e8):
        with pytest.raises(jo.errors.EmptySet) as raised:
            jo.project([0.3], K, mass=mass, solver=jo.InteriorPoint(tol=1e-3))
        y = raised.value.weights
        assert (y >= 0.0).all()
        assert abs(y[0] - y[1]) <= 1e-9 * y.max()
        assert K.c @ y < 0.0


def test_an_empty_linearisation_is_not_called_an_empty_set():
    """Two balls side by side grow in a box that is high enough: only Q linearised there is empty."""
    radii = lambda t: 0.2 * (1.0 + t) * np.ones(2)  # noqa: E731
    Q = jo.Balls(radii) & jo.Box([0, 0], [1, 10], radii=radii)
    with pytest.raises(jo.errors.EmptySet, match="itself may have points left"):
        jo.solve(jo.Sweeping(q0=[[0.25, 5], [0.75, 5]], within=Q), jo.Venel(), t=1.0, h=0.01)


def test_things_print_in_a_line():
    ball = jo.Motion(q0=[1.0], within=jo.HalfSpace([1.0]) & jo.Box(0.0, 2.0))
    sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.1)
    assert repr(sol).startswith("Solution(finished: 10 steps of Maury, t = 0 to 1, 11 frames saved, q of shape (1,)")
    assert repr(ball) == "Motion(q0 of shape (1,), within=HalfSpace & Box, law=Restitution(e=0.0))"


@pytest.mark.parametrize("slope", [1.0, 3e-3, 1e-4, 1e-6])
def test_a_shallow_gap_has_its_gradient(slope):
    wall = jo.constraints(lambda t, q: [1.0 - slope * q[0]])
    G = wall.linearise(0.0, np.array([1.0])).G.toarray()
    np.testing.assert_allclose(G, [[-slope]], rtol=1e-4)
    promised = jo.constraints(convex=True, moving=False)(wall.g)
    sol = jo.solve(jo.Motion(q0=[1.0], v0=[10.0 / slope], within=promised), jo.Maury(), t=1.0, h=1.0)
    assert sol.q[-1, 0] == pytest.approx(1.0 / slope, rel=1e-3)
    jo.constraints(gradient=lambda t, q: [[-slope]])(wall.g).linearise(0.0, np.array([1.0]))


def test_a_flat_configuration_of_several_bodies_is_the_same_as_its_rows():
    line = jo.nearest([0.0, 0.5, 10.0], jo.Balls([1.0] * 3)).point
    np.testing.assert_allclose(line, [-0.75, 1.25, 10.0], atol=1e-10)
    w, mass = np.array([[5.0, 5.0], [0.0, 0.3]]), [[1.0, 4.0], [1.0, 4.0]]
    disc = jo.Outside([0.0, 0.0], 1.0)
    flat, rows = jo.nearest(w.ravel(), disc, mass=np.ravel(mass)).point, jo.nearest(w, disc, mass=mass).point
    np.testing.assert_allclose(np.abs(flat), np.abs(rows).ravel(), atol=1e-9)
    assert abs(rows[1, 1]) < 0.5
    pair = jo.Motion(q0=[0.0, 0.0, 3.0, 0.4], v0=[1.0, 0.0, -1.0, 0.0], within=jo.Balls([1.0, 1.0]))
    sol = jo.solve(pair, jo.Paoli(), t=2.0, h=0.4)
    assert sol.gaps().min() >= -1e-9


@pytest.mark.parametrize("far", [1e11, 1e15])
def test_a_body_far_away_does_not_hide_an_overlap(far):
    P = jo.nearest([[0.0, 0.0], [1.9, 0.0], [far, 0.0]], jo.Balls([1.0] * 3))
    assert P.point[1, 0] - P.point[0, 0] >= 2.0 - 1e-9


def test_a_point_that_is_not_finite_has_no_nearest():
    with pytest.raises(jo.errors.NotFinite):
        jo.nearest([np.inf, 0.1], jo.Outside([0.0, 0.0], 2.0))


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
def test_the_centre_of_an_obstacle_of_any_size_is_left(length):
    disc = jo.constraints(lambda t, q: [np.linalg.norm(q) - length])
    assert np.linalg.norm(jo.nearest([0.0, 0.0], disc).point) == pytest.approx(length, rel=1e-9)


def test_an_impact_may_be_followed_by_no_contact_at_all():
    """Balls that grow until they touch and then shrink at once: the second step of the impact finds no pair near."""
    radii = lambda t: np.full(2, 0.5 - 4.0 * max(t - 0.3, 0.0) if t <= 0.31 else 0.1)  # noqa: E731
    pair = jo.Motion(q0=[[0.0, 0.0], [1.2, 0.0]], v0=[[1.0, 0.0], [-1.0, 0.0]], within=jo.Balls(radii))
    hits = jo.solve(pair, jo.Maury(), t=0.6, h=0.1).impacts()
    assert len(hits) == 1
    assert hits.before[0] == pytest.approx(-2.0)


def test_a_point_inside_is_not_the_array_that_was_given():
    q = np.array([3.0, 0.0])
    assert jo.nearest(q, jo.Outside([0.0, 0.0], 1.0)).point is not q


@pytest.mark.parametrize("G", [np.eye(4), csr_array(np.eye(4))], ids=["dense", "sparse"])
def test_an_answer_that_is_not_a_number_has_no_small_residual(G):
    K, w, nothing = jo.convex.Polyhedron(G, np.zeros(4)), -np.ones(4), np.full(4, np.nan)
    assert residual(w, K, metric(1.0, (4,)), nothing, nothing).worst == np.inf


def test_nor_has_one_on_contacts_of_bodies():
    pairs = jo.convex.NormalRows(np.array([0]), np.array([1]), np.array([[1.0, 0.0]]), bodies=2)
    nothing = np.full(4, np.nan)
    found = residual(np.zeros(4), jo.convex.Polyhedron(pairs, [-1.0]), metric(1.0, (4,)), nothing, np.full(1, np.nan))
    assert found.worst == np.inf


def test_a_set_of_the_user_is_checked_beside_a_vessel_too():
    @jo.constraints
    def bowl(t, q):
        return 1.0 - np.linalg.norm(q, axis=-1)

    far = jo.Vessel([(50.0, -50.0), (50.0, 50.0)], radii=0.1)
    slide = jo.Motion(q0=[[0.9, 0.0, 0.0]], v0=[[0.0, 5.0, 0.0]], within=bowl & far)
    with pytest.raises(jo.LeftTheSet):
        jo.solve(slide, jo.Maury(), t=1.0, h=0.05)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_uses_one_thread():
    """Who forks wants the children to share the cores."""
    child = os.fork()
    if child == 0:
        os._exit(0 if threads() == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
