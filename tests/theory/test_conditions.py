"""The hypotheses of Paoli, and those about forces, laws, masses and starts: each is violated once."""

import math

import numpy as np
import pytest

import jostle as jo
from jostle.theory import hypotheses
from jostle.theory.report import FAILS, HOLDS, UNKNOWN

FLOOR = jo.HalfSpace([0.0, 1.0])
TRIANGLE = [(0.0, 0.0), (2.0, 0.0), (0.0, 2.0)]
MAURY_TITLE = "Bernicot & Lefebvre-Lepot 2010, Theorem 1.3"
MAURY, VENEL, PAOLI_2005, PAOLI_2010 = "Bernicot", "Venel", "Paoli 2005", "Paoli 2010"


def section(report, title):
    return next(one for one in report.sections if one.title.startswith(title))


def point(q0=(0.0, 1.0), within=FLOOR, **more):
    return jo.Motion(q0=list(q0), within=within, **more)


def test_a_point_above_a_floor_has_all_hypotheses():
    report = hypotheses(point(v0=[1.0, 0.0], force=[0.0, -9.81]))
    for title in (MAURY, PAOLI_2005, PAOLI_2010):
        assert section(report, title).summary.startswith("holds: ")


def test_forces_of_the_velocity_are_none_of_theorem_1_3():
    for force, verdict in (
        (lambda t, q, u: -2.0 * u, FAILS),
        (lambda t, q, u: -q, UNKNOWN),
        (lambda t, q: -q, HOLDS),
        (jo.StiffForce(lambda t, q, u: -3.0 * u, damping=3.0), FAILS),
        ([0.0, -1.0], HOLDS),
    ):
        report = hypotheses(point(force=force))
        assert report["f(t, q)"].verdict == verdict
        assert section(report, PAOLI_2010).verdict != FAILS
    assert hypotheses(point(v0=[1.0, 0.0], force=lambda t, q, u: -2.0 * u))["f(t, q)"].values["slope in u"] == (
        pytest.approx(2.0, rel=1e-6)
    )


def test_functions_of_the_user_are_not_known_at_other_places():
    report = hypotheses(point(force=lambda t, q: -q))
    assert [report[name].verdict for name in ("(1.16)", "(1.17)", "Paoli 2005 (H1)")] == [UNKNOWN] * 3
    walk = hypotheses(jo.Sweeping(q0=[0.0, 1.0], velocity=lambda t, q: -q, within=FLOOR))
    assert [walk[name].verdict for name in ("(13)", "(14)", "(15)")] == [UNKNOWN] * 3
    still = hypotheses(jo.Sweeping(q0=[0.0, 1.0], velocity=[1.0, 0.0], within=FLOOR))
    assert [still[name].verdict for name in ("(13)", "(14)", "(15)")] == [HOLDS] * 3
    assert section(still, VENEL).verdict == HOLDS


def test_what_is_no_function_of_t_and_q_fails():
    random = np.random.default_rng(0)
    report = hypotheses(point(force=lambda t, q: random.normal(size=2)))
    assert [report[name].verdict for name in ("(1.16)", "(1.17)", "Paoli 2010 (H1)")] == [FAILS] * 3


def test_a_mass_that_depends_on_q_is_that_of_paoli_2010_only():
    report = hypotheses(point(mass=lambda q: np.diag([2.0, 1.0 + q[0] ** 2])))
    assert section(report, PAOLI_2005).verdict == section(report, MAURY).verdict == FAILS
    assert report["Paoli 2010 (H4)"].verdict == section(report, PAOLI_2010).verdict == UNKNOWN
    assert report["Paoli 2010 (H2)"].verdict == HOLDS


@pytest.mark.parametrize(
    ("law", "zero", "one"),
    [
        (jo.Restitution(0.0), HOLDS, HOLDS),
        (jo.Restitution(0.7), FAILS, HOLDS),
        (jo.Restitution(lambda v: 0.3 + 0.0 * v), FAILS, UNKNOWN),
        (jo.Restitution(lambda v: 0.0 * v), UNKNOWN, UNKNOWN),
        (jo.Restitution(lambda v: 1.0 / (1.0 + v)), FAILS, FAILS),
        (jo.Restitution({"wall 0": 0.4}, default=0.2), FAILS, FAILS),
        (jo.Restitution({"wall 0": 0.4, "wall 1": 0.4}), FAILS, HOLDS),
        (jo.Restitution({"wall 1": 0.0}), HOLDS, HOLDS),
    ],
)
def test_laws_have_one_restitution_or_not(law, zero, one):
    corner = jo.Balls([0.1]) & FLOOR & jo.HalfSpace([1.0, 0.0])
    report = hypotheses(jo.Motion(q0=[[1.0, 1.0]], within=corner, law=law))
    assert report[f"{MAURY_TITLE} e = 0"].verdict == report["Paoli 2005 e = 0"].verdict == zero
    assert report["Paoli 2010 e"].verdict == one


@pytest.mark.parametrize("q0", [[0.0, -0.5], [3.0, -1e-3]])
def test_nothing_is_promised_to_those_who_start_outside(q0):
    report = hypotheses(point(q0, v0=[0.0, 1.0]))
    for title in (MAURY, PAOLI_2005, PAOLI_2010):
        assert section(report, title).verdict == FAILS
        assert "q0" in section(report, title).summary
    walk = jo.Sweeping(q0=q0, velocity=[0.0, 1.0], within=FLOOR)
    assert section(hypotheses(walk), VENEL).verdict == FAILS
    assert section(hypotheses(walk, [0.0, 1.0]), VENEL).verdict == FAILS  # also when another place is looked at
    with pytest.raises(jo.InvalidValue, match="not in Q"):
        hypotheses(point(), q0)


@pytest.mark.parametrize(
    ("within", "q0"),
    [
        (jo.Polygons([TRIANGLE]), [3.0, 3.0]),
        (jo.Balls([0.1]) & jo.Polygons([TRIANGLE]), [[3.0, 3.0]]),
        (jo.Balls([0.1]) & jo.Segments([[[0.0, 0.0], [2.0, 0.0]]]), [[1.0, 0.5]]),
        (jo.Balls([0.1]) & jo.Outside([0.0, 0.0], 1.0), [[3.0, 1.0]]),
        (jo.Balls([0.1, 0.2]) & FLOOR, [[0.0, 1.0], [3.0, 4.0]]),
        (jo.Balls([0.1] * 2), [[0.0], [3.0]]),
        (jo.constraints(lambda t, q: [q[0] ** 2 - 1.0]), [2.0, 0.0]),
    ],
    ids=["polygon", "disc", "segment", "obstacle", "balls", "line", "of the user"],
)
def test_sets_around_obstacles_are_not_convex(within, q0):
    """Seen from the middle of an edge, where nothing bends."""
    assert hypotheses(jo.Motion(q0=q0, within=within))["Paoli 2005 (H2)"].verdict == FAILS


def test_an_obstacle_outside_a_box_is_no_witness_against_convexity():
    """It is far behind the wall: K is the box, which is convex, and nothing may be called a failure."""
    within = jo.Box([0.0, 0.0], [4.0, 4.0]) & jo.Outside([-9.0, 2.0], 1.0)
    assert hypotheses(jo.Motion(q0=[1.0, 2.0], within=within))["Paoli 2005 (H2)"].verdict == UNKNOWN


def test_a_set_without_inner_points_is_none_of_paoli_2005():
    report = hypotheses(jo.Motion(q0=[1.0, 0.0], within=jo.Box([0.0, 0.0], [2.0, 0.0])))
    assert report["Paoli 2005 (H2)"].verdict == FAILS
    assert "no inner point" in report["Paoli 2005 (H2)"].detail


@pytest.mark.each_value
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize(
    "outside", [lambda x: x - 1.0, lambda x: np.exp(2.0 * x) - np.exp(2.0), lambda x: 7.0 * (x**3 - 1.0)]
)
def test_the_radius_of_curvature_is_that_of_the_boundary(scale, outside):
    """Outside x^2 / 4 + y^2 + z^2 / 9 = 1: 1/2, 4 and 1/3 on the axes."""
    squares = np.array([4.0, 1.0, 9.0])
    within = jo.constraints(lambda t, q: [outside(float((q / scale) ** 2 @ (1.0 / squares)))])
    for q, radius in (([2.0, 0.0, 0.0], 0.5), ([0.0, 1.0, 0.0], 4.0), ([0.0, 0.0, 3.0], 1.0 / 3.0)):
        line = hypotheses(jo.Motion(q0=scale * np.array(q), within=within))["Paoli 2005 (H2)"]
        assert line.verdict == FAILS
        assert line.values["radius of curvature"] == pytest.approx(scale * radius, rel=1e-3)


@pytest.mark.parametrize(
    "g",
    [
        lambda q: 1.0 - q @ q,
        lambda q: -np.log(q @ q),
        lambda q: np.exp(1.0 - q @ q) - 1.0,
        lambda q: 1.0 / (q @ q) - 1.0,
    ],
)
def test_a_ball_is_not_called_concave_however_it_is_written(g):
    for q in ([0.0, 0.6, 0.8], [0.1, 0.2, 0.3]):
        report = hypotheses(jo.Motion(q0=q, within=jo.constraints(lambda t, q: [g(q)])))
        assert report["Paoli 2005 (H2)"].verdict == UNKNOWN


@pytest.mark.parametrize(
    ("within", "verdicts"),
    [
        (jo.Box([0.0, 0.0], [1.0, 2.0]), (HOLDS, HOLDS, HOLDS)),
        (FLOOR & jo.HalfSpace([0.0, -1.0], offset=-5.0), (HOLDS, HOLDS, HOLDS)),
        (FLOOR & jo.HalfSpace([1.0, 1.0]), (HOLDS, UNKNOWN, FAILS)),
        (FLOOR & jo.HalfSpace([1.0, -1.0]), (HOLDS, HOLDS, FAILS)),
        (FLOOR & jo.HalfSpace([0.0, 2.0], offset=1e-3) & jo.HalfSpace([1.0, -1.0], offset=-9.0), (HOLDS, HOLDS, FAILS)),
        (FLOOR & jo.Outside([0.0, 9.0], 1.0), (UNKNOWN, UNKNOWN, UNKNOWN)),
    ],
    ids=["box", "channel", "135 degrees", "45 degrees", "hidden floor", "with an obstacle"],
)
def test_angles_between_planes_are_known_everywhere(within, verdicts):
    """(H3), (H5) and (H6), seen from a place where nothing is closed."""
    report = hypotheses(jo.Motion(q0=[0.7, 0.5], within=within))
    assert tuple(report[f"Paoli 2005 {name}"].verdict for name in ("(H3)", "(H5)")) == verdicts[:2]
    assert report["(H6)"].verdict == verdicts[2]


def test_functions_that_are_not_defined_everywhere_are_asked_for_no_more_than_they_have():
    """The height of a bowl that ends, and a drag that is not defined for fast bodies."""
    bowl = jo.constraints(lambda t, q: [q[1] - 1.0 + math.sqrt(1.0 - q[0] ** 2 + q[1])])
    drag = point([0.1, 0.5], bowl, force=lambda t, q, u: -u * math.sqrt(0.25 - u @ u))
    report = hypotheses(drag)
    assert report["f(t, q)"].verdict == FAILS
    assert report["Paoli 2005 (H2)"].verdict == UNKNOWN
