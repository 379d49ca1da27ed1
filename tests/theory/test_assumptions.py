"""The hypotheses (A0)-(A6) hold where they are known at every q and t, and nowhere else."""

import numpy as np
import pytest

import jostle as jo
from jostle.theory import hypotheses
from jostle.theory.report import FAILS, HOLDS, UNKNOWN

KITE = np.array([[2.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
MAURY, VENEL = "Bernicot", "Venel"


def section(report, title):
    return next(one for one in report.sections if one.title.startswith(title))


def sweep(within, q0, velocity=None):
    return jo.Sweeping(q0=q0, velocity=np.zeros(np.shape(q0)) if velocity is None else velocity, within=within)


@pytest.mark.parametrize(
    "within",
    [jo.Polygons([KITE]), jo.Outside([0.0, 0.0], 0.0), jo.Segments([[[-1.0, 0.0], [1.0, 0.0]]], radii=0.0)],
    ids=["polygon", "obstacle of radius 0", "segment"],
)
def test_points_may_be_pressed_on_a_corner_and_slide_off_on_either_side(within):
    """Beside a corner c = 0, M is infinite and Q is not prox-regular: neither existence nor uniqueness is promised."""
    report = hypotheses(sweep(within, [4.0, 0.0], [-1.0, 0.0]))
    assert [report[name].verdict for name in ("(A0)", "(A1)", "(A4)", "eta", "CatchingUp")] == [FAILS] * 5
    assert (report["(A0)"].values["c"], report["(A4)"].values["M"]) == (0.0, np.inf)
    assert section(report, VENEL).verdict == FAILS
    assert section(hypotheses(jo.Motion(q0=[4.0, 0.0], within=within)), MAURY).verdict == FAILS


@pytest.mark.parametrize(
    "wall", [jo.Polygons([KITE]), jo.Segments([[[-1.0, 0.0], [1.0, 0.0]]])], ids=["polygon", "segment"]
)
def test_discs_have_the_curvature_of_their_radius_at_corners_and_ends(wall):
    """The disc is above an edge, where the wall is flat: at the corners, |D^2 g| = 2 / r on U, and eta = r."""
    report = hypotheses(sweep(jo.Balls([0.2]) & wall, [[0.1, 3.0]], [[0.0, -4.0]]))
    assert report["(A4)"].verdict == HOLDS
    assert report["(A4)"].values["M"] == pytest.approx(2.0 / 0.2)
    assert report["(A0)"].values["c"] == pytest.approx(0.1)
    assert report["CatchingUp"].values["h"] == pytest.approx(0.2 / 4.0)


@pytest.mark.parametrize(
    ("within", "q0", "velocity", "h"),
    [
        (jo.Outside([0.0, 0.0], 2.0), [7.0, 0.0], [-4.0, 0.0], 0.5),
        (jo.Balls([0.25]) & jo.Outside([0.0, 0.0, 0.0], 2.0), [[7.0, 0.0, 0.0]], [[-3.0, 0.0, 0.0]], 0.75),
        (jo.Balls([0.3, 0.5]), [[-3.0, 0.0], [3.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0]], 0.8 / 2.0),
    ],
    ids=["point", "ball in space", "pair"],
)
def test_the_largest_step_is_finite_before_the_contact(within, q0, velocity, h):
    report = hypotheses(sweep(within, q0, velocity))
    assert report["CatchingUp"].values["h"] == pytest.approx(h)
    assert report["CatchingUp"].verdict == report["eta"].verdict == HOLDS


def test_the_largest_step_does_not_depend_on_the_unit_of_mass():
    """The norms of eta and of velocities are those of the metric: with M = 9, both are three times as large."""
    for mass in (1.0, 9.0):
        fall = jo.Motion(q0=[5.0, 0.0], v0=[-2.0, 0.0], mass=mass, within=jo.Outside([0.0, 0.0], 1.0))
        assert hypotheses(fall)["Paoli"].values["h"] == pytest.approx(0.5)


def test_a_constraint_of_the_user_has_no_known_prox_regularity_before_the_contact():
    own = jo.constraints(lambda t, q: [q @ q - 4.0])
    far, near = (hypotheses(sweep(own, q, [-1.0, 0.0])) for q in ([5.0, 0.0], [2.0, 0.0]))
    assert far["eta"].verdict == far["CatchingUp"].verdict == near["CatchingUp"].verdict == UNKNOWN
    assert near["eta"].verdict == UNKNOWN
    assert near["eta"].values["eta"] == pytest.approx(2.0, rel=1e-4)


def test_what_holds_at_one_place_is_not_known_elsewhere():
    own = jo.constraints(lambda t, q: [q[0] ** 3 + q[1]], moving=False)
    report = hypotheses(sweep(own, [1.0, 1.0]))
    for name in ("(A1)", "(A4)"):
        assert (report[name].verdict, report[name].local) == (UNKNOWN, True)
        assert report[name].values
    assert section(report, VENEL).summary.startswith("promised if convex, (A0), (A1) and (A4) hold: ")


@pytest.mark.parametrize(
    "within",
    [
        jo.HalfSpace([1.0], offset=lambda t: 0.0 if t < 0.5 else 0.2),
        jo.Box(lambda t: [-1.0 if t < 0.5 else -0.7], [9.0]),
        jo.constraints(lambda t, q: [q[0] + (1.0 if t < 0.5 else 0.9)]),
    ],
    ids=["plane", "box", "of the user"],
)
def test_a_wall_that_may_jump_has_no_bounded_rate(within):
    sol = jo.solve(sweep(within, [2.0]), jo.Venel(), t=1.0, h=0.05)
    report = hypotheses(sol)
    assert report["(A2)"].verdict == UNKNOWN
    assert section(report, VENEL).verdict == UNKNOWN
    fall = hypotheses(jo.Motion(q0=[2.0], within=within))
    assert [fall[name].verdict for name in ("(A2)", "(A5)")] == [UNKNOWN] * 2


def test_the_rate_of_a_plane_that_turns_grows_along_it():
    """dg/dt = n'(t) q: no beta for all q, although it is 0 at the axis. A polygon that turns is bounded."""
    plane = jo.HalfSpace(lambda t: [np.cos(2.0 * t), np.sin(2.0 * t), 1.0])
    for q in ([1.0, 0.0, 1.0], [2.0, 1.0, 1.0]):
        line = hypotheses(sweep(plane, q))["(A2)"]
        assert (line.verdict, "without end" in line.detail) == (FAILS, True)
    still = jo.HalfSpace(lambda t: [1.0, 0.0])
    assert hypotheses(sweep(still, [1.0, 0.0]))["(A2)"].verdict == UNKNOWN
    turnstile = jo.Polygons(lambda t: [[[np.cos(t), np.sin(t)], [0.0, 0.3], [-0.3, 0.0]]])
    assert hypotheses(sweep(turnstile, [4.0, 0.0]))["(A2)"].verdict == UNKNOWN
    assert hypotheses(sweep(turnstile, [4.0, 0.0]))["(A3)"].verdict == UNKNOWN


def test_a_set_at_rest_has_no_rates():
    report = hypotheses(jo.Motion(q0=[1.0, 1.0], within=jo.Box([0.0, 0.0], [2.0, 2.0])))
    assert [report[name].verdict for name in ("(A2)", "(A3)", "(A5)", "Q(t)")] == [HOLDS] * 4


@pytest.mark.parametrize(
    ("within", "q0", "verdict"),
    [
        (jo.Box([0.0, 0.0], [2.0, 2.0]), [0.0, 1.0], HOLDS),
        (jo.Balls([0.5]) & jo.Box([0.0, 0.0], [2.0, 2.0]), [[1.0, 1.0]], HOLDS),
        (jo.Balls([0.5]) & jo.Box([0.0, 0.0], [1.0, 2.0]), [[0.5, 1.0]], FAILS),
        (jo.Line([0.5, 0.5], lower=0.0, upper=9.0), [0.5, 3.0], HOLDS),
        (jo.Balls([0.5, 0.5]) & jo.Box([0.0, 0.0], [2.0, 9.0]), [[0.5, 1.0], [1.0, 4.0]], UNKNOWN),
        (jo.Balls([0.5] * 3), [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 4.0, 0.0]], HOLDS),
        (jo.Outside([0.0, 0.0], 1.0), [3.0, 0.0], HOLDS),
    ],
    ids=[
        "point in a box",
        "disc in a box",
        "wedged disc",
        "line",
        "two discs that may be wedged",
        "spheres",
        "obstacle",
    ],
)
def test_the_inverse_triangle_inequality_holds_where_it_is_proved_at_every_q(within, q0, verdict):
    assert hypotheses(sweep(within, q0))["(A5')"].verdict == verdict


def test_walls_that_move_apart_or_together():
    """One direction opens a floor and a wall wherever they are; two walls that face each other may close the set."""
    corner = jo.HalfSpace([0.0, 1.0], offset=np.sin) & jo.HalfSpace([1.0, 0.0])
    press = jo.HalfSpace([0.0, 1.0], offset=np.sin) & jo.HalfSpace([0.0, -1.0], offset=-3.0)
    for within, verdict in ((corner, HOLDS), (press, UNKNOWN)):
        report = hypotheses(sweep(within, [1.0, 1.0]))
        assert [report[name].verdict for name in ("(A5)", "(A5')", "Q(t)")] == [verdict] * 3


def test_a_rho_that_is_too_large_is_no_failure():
    """A disc of radius 1/2 in a channel of width 1.1: both walls are nearer than rho = 0.2, not than 0.05."""
    channel = jo.Balls([0.5]) & jo.Box([0.0, -np.inf], [1.1, np.inf])
    moving = channel & jo.HalfSpace([0.0, 1.0], offset=lambda t: -9.0 - t)
    line = hypotheses(jo.Motion(q0=[[0.55, 0.0]], within=moving), rho=0.2)["(A6)"]
    assert (line.verdict, "a smaller one may do" in line.detail) == (UNKNOWN, True)


@pytest.mark.parametrize("kind", [jo.Motion, jo.Sweeping])
def test_a_wedged_body_that_a_wall_presses_has_no_step(kind):
    """A disc between two walls, one of which comes: the set closes at once."""
    walls = jo.HalfSpace([1.0, 0.0], offset=-0.4) & jo.HalfSpace([-1.0, 0.0], offset=lambda t: -0.4 + 3.0 * t)
    report = hypotheses(kind(q0=[[0.0, 0.0]], within=jo.Balls([0.4]) & walls))
    scheme = "Maury" if kind is jo.Motion else "Venel"
    assert (report[scheme].verdict, report[scheme].values["h"]) == (FAILS, 0.0)
    assert report["eta"].verdict == FAILS


@pytest.mark.parametrize("walls", [jo.HalfSpace([0.0, 1.0]), jo.Polygons([KITE]), jo.Segments([KITE[:2]])])
@pytest.mark.parametrize("kind", [jo.Motion, jo.Sweeping])
def test_a_problem_without_bodies_has_a_report(kind, walls):
    report = hypotheses(kind(q0=np.zeros((0, 2)), within=jo.Balls([]) & walls))
    assert report.sections[0].verdict == HOLDS


def test_gaps_of_a_periodic_space_have_kinks():
    ring = jo.Sweeping(q0=[[0.0, 0.0], [1.5, 0.0]], within=jo.Balls([0.5] * 2, period=[6.0, np.inf]))
    report = hypotheses(ring)
    assert [report[name].verdict for name in ("convex", "(A0)", "(A1)")] == [FAILS] * 3


def test_the_inside_of_a_circle_has_a_gap_with_a_kink_in_its_middle():
    report = hypotheses(sweep(jo.Balls([0.1]) & jo.Inside([0.0, 0.0], 1.0), [[0.5, 0.0]]))
    assert [report[name].verdict for name in ("convex", "(A0)", "(A4)")] == [FAILS] * 3


def test_radii_that_depend_on_time_are_known_now():
    report = hypotheses(sweep(jo.Balls(lambda t: np.array([0.5, 0.5]) - 0.1 * t), [[0.0, 0.0], [3.0, 0.0]]))
    for name in ("(A0)", "(A4)"):
        assert (report[name].verdict, "not known at other times" in report[name].detail) == (UNKNOWN, True)


def test_constants_of_many_bodies_are_those_of_all_pairs_and_not_of_the_near_ones():
    """400 discs far apart, two of which are small: M = 2 / r of these."""
    q = 5.0 * np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 2)
    radii = np.full(400, 1.0)
    radii[[3, 300]] = 0.01
    report = hypotheses(sweep(jo.Balls(radii), q))
    assert report["(A4)"].values["M"] == pytest.approx(2.0 / 0.01)
    assert report["eta"].values["eta"] == pytest.approx(0.02 / 2**0.5)
