"""The hypotheses of the papers, on configurations whose answers are known by hand."""

import numpy as np
import pytest
from scipy.optimize import minimize

import jostle as jo
from jostle.theory import good_direction, hypotheses
from jostle.theory.places import places
from jostle.theory.report import FAILS, HOLDS, UNKNOWN

PAIR = [[0.0, 0.0], [1.0, 0.0]]
CHAIN = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
TRIANGLE = [[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]]
SQUARE = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
LATTICE = [[float(i), float(j)] for i in range(3) for j in range(3)]


def discs(q, **more):
    return jo.Motion(q0=q, within=jo.Balls([0.5] * len(q)), **more)


def wedge(degrees, **more):
    """A point at the vertex of a wedge with this interior angle."""
    theta = np.radians(degrees)
    walls = jo.HalfSpace([0.0, 1.0]) & jo.HalfSpace([np.sin(theta), -np.cos(theta)])
    return jo.Motion(q0=[0.0, 0.0], within=walls, **more)


def test_of_many_frames_those_with_the_most_contacts_are_examined():
    ball = jo.Motion(q0=[1.0], v0=[-1.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(1.0))
    sol = jo.solve(ball, jo.MoreauJean(), t=1.8, h=0.03)
    [hit] = (k for k, p in enumerate(sol.multipliers) if p.any())
    assert [k for k, _ in places(sol, 4)] == [0, hit, len(sol.t) - 1]


def by_descent(rows):
    """gamma by its definition: the largest sum a |G| / |sum a G|, by a general optimiser."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    m = len(unit)
    best = minimize(
        lambda a: np.sum((a @ unit) ** 2),
        np.full(m, 1.0 / m),
        jac=lambda a: 2.0 * unit @ (a @ unit),
        bounds=[(0.0, 1.0)] * m,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0, "jac": lambda a: np.ones(m)},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return 1.0 / np.linalg.norm(best.x @ unit)


@pytest.mark.parametrize(
    ("q", "gamma"),
    [(PAIR, 1.0), (CHAIN, 2.0), (TRIANGLE, 2.0**0.5), (SQUARE, 2.0), (LATTICE, 24.0**0.5)],
    ids=["pair", "chain", "triangle", "square", "lattice"],
)
def test_gamma_of_configurations_that_can_be_solved_by_hand(q, gamma):
    """P53 for the first three. A square lattice decouples into 2 n rows of n discs, each of gamma_n^2 =
    n (n^2 - 1) / 6, so that gamma^2 = 2 n n (n^2 - 1) / 6."""
    report = hypotheses(discs(q))
    assert report["(A6')"].verdict == HOLDS
    assert report["(A6')"].values["gamma"] == pytest.approx(gamma, rel=1e-9)
    assert report["good direction"].values["delta"] == pytest.approx(1.0 / gamma, rel=1e-9)
    assert report["(A6')"].values["bound"] == pytest.approx(jo.analysis.gamma(len(q)), rel=1e-12)


@pytest.mark.parametrize("mass", [1.0, [1.0, 4.0, 0.5]], ids=["equal", "different"])
def test_gamma_is_its_definition_in_the_kinetic_metric(mass):
    q = np.array([[0.0, 0.0], [1.0, 0.0], [1.6, 0.8]])
    problem = jo.Motion(q0=q, within=jo.Balls([0.5] * 3) & jo.HalfSpace([0.0, 1.0], offset=-0.5), mass=mass)
    cone = problem.within.linearise(0.0, q).cone()
    rows = cone.G.toarray() / np.sqrt(np.repeat(np.broadcast_to(mass, 3), 2))
    assert len(rows) == 4
    assert hypotheses(problem)["(A6')"].values["gamma"] == pytest.approx(by_descent(rows), rel=1e-6)
    assert jo.analysis.inverse_triangle(cone, np.repeat(np.broadcast_to(mass, 3), 2)) == pytest.approx(
        by_descent(rows), rel=1e-6
    )


def test_the_good_direction_opens_all_contacts_as_fast_as_gamma_says():
    cone = jo.Balls([0.5] * 9).linearise(0.0, np.array(LATTICE)).cone()
    found = good_direction(cone)
    slopes = cone.G @ found.u / np.sqrt(2.0)
    assert np.linalg.norm(found.u) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(slopes.min(), found.delta, atol=1e-9)
    random = np.random.default_rng(0)
    for _ in range(200):  # no other direction does better
        u = found.u + 0.2 * random.normal(size=18)
        assert (cone.G @ u).min() / np.sqrt(2.0) / np.linalg.norm(u) <= found.delta + 1e-12


def test_constants_of_equal_discs_are_those_of_the_paper():
    """Venel 2009, section 4.2: alpha = beta = sqrt(2), M = 2 / r, c = r / sqrt(2); Prop. 2.9 and 4.5 for eta."""
    r = 0.5
    report = hypotheses(jo.Sweeping(q0=CHAIN, within=jo.Balls([r] * 3)))
    assert report["(A0)"].values["c"] == pytest.approx(r / 2**0.5)
    assert report["(A1)"].values == pytest.approx({"alpha": 2**0.5, "beta": 2**0.5})
    assert report["(A4)"].values["M"] == pytest.approx(2.0 / r)
    assert [report[name].values for name in ("(A2)", "(A3)")] == [{"beta": 0.0}, {"M": 0.0}]
    assert report["(A5')"].values == pytest.approx({"gamma": 2.0, "bound": 529.089784441, "n_v": 6.0})
    assert report["eta"].values["Prop. 4.5"] == pytest.approx(0.00133645895646 * r)
    assert report["eta"].values["eta"] == pytest.approx(2.0 * r / 2**0.5 / 2.0)  # of one pair, over gamma


def test_constants_do_not_depend_on_how_far_apart_the_discs_are():
    near, far = (hypotheses(jo.Sweeping(q0=[[0.0, 0.0], [x, 0.0]], within=jo.Balls([0.5, 0.5]))) for x in (1.0, 7.0))
    for name in ("(A0)", "(A1)", "(A4)"):
        assert far[name].values == pytest.approx(near[name].values)


def test_the_prox_regularity_constant_is_that_of_the_smallest_balls_also_where_larger_ones_touch():
    """Two large balls touch, two small ones do not yet: Q bends around these with the radius 0.2 / sqrt(2)."""
    apart = jo.Sweeping(q0=[[0.0, 0.0], [2.0, 0.0], [9.0, 0.0], [9.5, 0.0]], within=jo.Balls([1.0, 1.0, 0.1, 0.1]))
    assert hypotheses(apart)["eta"].values["eta"] == pytest.approx(0.2 / 2**0.5)


def test_the_prox_regularity_constant_of_a_pair_is_exact():
    """P53: (r_i + r_j) / sqrt(2)."""
    report = hypotheses(jo.Sweeping(q0=[[0.0, 0.0], [1.2, 0.0]], within=jo.Balls([0.5, 0.7])))
    assert report["eta"].values["eta"] == pytest.approx(1.2 / 2**0.5)


def test_the_bound_for_different_radii_has_the_number_of_neighbours():
    """Venel 2009, remark 4.10: r = 1 and 2 allow pi / arcsin(1/3) = 9.24, so 9 neighbours."""
    q = [[0.0, 0.0], [3.0, 0.0], [6.0, 0.0]]
    line = hypotheses(jo.Sweeping(q0=q, within=jo.Balls([1.0, 2.0, 1.0])))["(A5')"]
    b = 2.0 * 3.0 / np.sin(np.pi / 10.0)
    assert line.values["n_v"] == 9.0
    assert line.values["bound"] == pytest.approx(9.0 * 3.0 / 2**0.5 * b**3)
    assert "4.10" in line.detail
    assert jo.analysis.most_neighbours([1.0, 1.0]) == 6
    assert jo.analysis.gamma(400) == np.inf


def test_walls_have_no_bound_for_all_configurations():
    wall = jo.Balls([0.5] * 2) & jo.HalfSpace([0.0, 1.0], offset=-0.5)
    line = hypotheses(jo.Sweeping(q0=PAIR, within=wall))["(A5')"]
    assert "bound" not in line.values
    assert line.local


def test_a_ball_between_two_walls_has_no_good_direction():
    """Its two gradients balance each other: (A6') fails, gamma is infinite."""
    report = hypotheses(jo.Motion(q0=[[0.0, 0.0]], within=jo.Box([-1.0, -1.0], [np.inf, 1.0], radii=1.0)))
    line = report["(A6')"]
    assert line.verdict == FAILS
    assert line.values["gamma"] == np.inf
    assert line.detail.count("wall q[1]") == 2
    assert "q[0]" not in line.detail
    assert report["good direction"].verdict == FAILS
    assert report["eta"].values["eta"] == 0.0
    assert report.sections[0].summary.startswith("not promised, because of (A6')")


@pytest.mark.parametrize(
    ("degrees", "acute", "orthogonal"),
    [(60.0, HOLDS, FAILS), (90.0, HOLDS, HOLDS), (120.0, FAILS, FAILS)],
)
def test_corners_are_classified_by_their_angle(degrees, acute, orthogonal):
    """P09-P11: (H5) holds up to 90 degrees, (H6) at 90 degrees only; the pair is named."""
    report = hypotheses(wedge(degrees))
    for name, verdict in (("Paoli 2005 (H5)", acute), ("(H6)", orthogonal)):
        assert report[name].verdict == verdict
        assert report[name].values["cosine"] == pytest.approx(-np.cos(np.radians(degrees)), abs=1e-12)
        if verdict == FAILS:
            assert f"{degrees:g} degrees" in report[name].detail
            assert report[name].detail.count("plane with normal") == 2
    assert report["Paoli 2005 (H3)"].verdict == HOLDS


def test_an_angle_is_that_of_the_kinetic_metric():
    """P12: n1 = (1, 0), n2 = (1, 1) are orthogonal for M = [[2, 1], [1, 1]], not for the identity."""
    corner = jo.HalfSpace([1.0, 0.0]) & jo.HalfSpace([1.0, 1.0])
    for mass, verdict in (([[2.0, 1.0], [1.0, 1.0]], HOLDS), (1.0, FAILS)):
        report = hypotheses(jo.Motion(q0=[0.0, 0.0], within=corner, mass=mass))
        assert report["(H6)"].verdict == verdict
        assert report["Paoli 2005 (H5)"].verdict == verdict


def test_angle_conditions_are_about_corners_also_where_one_wall_alone_is_touched():
    """Two planes at 135 degrees, at a point of one of them: both meet at the origin, where (H5) and (H6) fail."""
    within = jo.HalfSpace([1.0, 0.0]) & jo.HalfSpace([1.0, 1.0])
    report = hypotheses(jo.Motion(q0=[0.0, 1.0], within=within))
    assert [report[name].verdict for name in ("Paoli 2005 (H5)", "(H6)", "Paoli 2010 (H3)")] == [UNKNOWN, FAILS, HOLDS]
    assert report["(H6)"].values["cosine"] == pytest.approx(0.5**0.5)
    assert all("135 degrees, at q = [" in report[name].detail for name in ("Paoli 2005 (H5)", "(H6)"))


def test_one_constraint_satisfies_all_angle_conditions():
    report = hypotheses(jo.Motion(q0=[0.0, 1.0], within=jo.Outside([0.0, 0.0], 1.0)))
    assert [report[name].verdict for name in ("Paoli 2005 (H5)", "(H6)", "Paoli 2010 (H3)")] == [HOLDS] * 3


def test_the_seven_discs_of_a_flower_depend_on_each_other():
    """P39: 12 gradients of rank 11, although (A6') holds: positive combinations do not vanish."""
    ring = np.pi / 3.0 * np.arange(6)
    q = np.concatenate([[[0.0, 0.0]], np.stack([np.cos(ring), np.sin(ring)], axis=1)])
    report = hypotheses(discs(q))
    line = report["Paoli 2010 (H3)"]
    assert line.verdict == FAILS
    assert (line.values["gradients"], line.values["rank"]) == (12.0, 11.0)
    assert "and 8 more" in line.detail
    assert report["(A6')"].verdict == HOLDS


def test_a_dependence_names_only_the_gradients_that_depend():
    """Two opposite walls of a channel depend on each other, the wall at the end does not."""
    channel = jo.Box([-1.0, -1.0], [np.inf, 1.0], radii=1.0)
    line = hypotheses(jo.Motion(q0=[[0.0, 0.0]], within=channel))["Paoli 2010 (H3)"]
    assert line.verdict == FAILS
    assert line.detail.count("wall q[1]") == 2
    assert "q[0]" not in line.detail


def test_what_a_moving_set_does_in_time_is_differenced():
    """The table A sin(2 pi t) with A (2 pi)^2 = 2 at t = 1/8: dg/dt = -2 cos / 2 pi, d2g/dt2 = 2 sin."""
    report = hypotheses(jo.models.vibrating_table(2.0), [0.1], 0.125)
    assert report["(A2)"].values["beta"] == pytest.approx(np.cos(np.pi / 4) / np.pi, rel=1e-6)
    assert report["(A5)"].values["M"] == pytest.approx(2.0 * np.sin(np.pi / 4), rel=1e-3)
    assert report["(A3)"].values["M"] == pytest.approx(0.0, abs=1e-9)


def test_a_wall_that_turns_has_a_gradient_that_turns():
    """g = -x sin(w t) + y cos(w t) at (2, 0): dg/dt = -2 w, |d grad g/dt| = w, d2g/dt2 = 0 at t = 0."""
    w = 3.0
    turning = jo.constraints(lambda t, q: [-q[0] * np.sin(w * t) + q[1] * np.cos(w * t)])
    report = hypotheses(jo.Motion(q0=[2.0, 0.0], v0=[0.0, 6.0], within=turning))
    assert report["(A2)"].values["beta"] == pytest.approx(2.0 * w, rel=1e-6)
    assert report["(A3)"].values["M"] == pytest.approx(w, rel=1e-4)
    assert report["(A5)"].values["M"] == pytest.approx(0.0, abs=1e-3)
    assert report["Paoli 2010 rest"].verdict == FAILS


def test_the_largest_step_of_growing_balls():
    """K_L = (r' + r') / |G|: a pair with r' = 0.3 needs h < c / K_L = (1 / sqrt 2) / (0.6 / sqrt 2)."""
    grow = jo.Motion(q0=[[0.0, 0.0], [2.0, 0.0]], within=jo.Balls(lambda t: np.array([1.0, 1.0]) + 0.3 * t))
    report = hypotheses(grow)
    assert report["Maury"].values["h"] == pytest.approx(1.0 / 0.6, rel=1e-6)
    assert report["Bernicot & Lefebvre-Lepot 2010 start"].verdict == FAILS


def test_the_largest_steps_of_the_other_schemes():
    """CatchingUp: h |U| < eta; Paoli: h |u| + h^2 |F| < eta; implicit: h < 2 / L; a wall is convex: every h."""
    outside = jo.Outside([0.0, 0.0], 1.0)
    sweep = hypotheses(jo.Sweeping(q0=[-1.0, 0.0], velocity=[2.0, 0.0], within=outside))
    assert sweep["CatchingUp"].values["h"] == pytest.approx(0.5)
    fall = jo.Motion(q0=[-1.0, 0.0], v0=[0.0, 1.0], force=[0.0, -6.0], within=outside)
    assert hypotheses(fall)["Paoli"].values["h"] == pytest.approx(1.0 / 3.0)
    drag = jo.Motion(q0=[1.0], force=lambda t, q, u: -9.81 - 0.5 * u, within=jo.HalfSpace([1.0]))
    assert hypotheses(drag)["Paoli, implicit"].values["h"] == pytest.approx(4.0, rel=1e-6)
    assert hypotheses(drag)["Paoli"].values["h"] == np.inf
    assert hypotheses(drag)["Maury"].values["h"] == np.inf


def test_the_largest_step_of_catching_up_with_a_moving_wall():
    """h (|U| + K_L) < eta: a disc of radius 1 that grows at the speed 1/2 towards a body that walks at the speed 2."""
    grows = jo.Outside([0.0, 0.0], lambda t: 1.0 + 0.5 * t)
    sweep = hypotheses(jo.Sweeping(q0=[-1.0, 0.0], velocity=[2.0, 0.0], within=grows))
    assert sweep["CatchingUp"].values["h"] == pytest.approx(0.4, rel=1e-6)


def test_a_scheme_that_refuses_the_problem_says_why():
    line = hypotheses(jo.models.cradle(3))["Maury"]
    assert line.verdict == FAILS
    assert "e = 0" in line.detail


def test_gaps_that_are_not_convex_are_found():
    ring = jo.constraints(lambda t, q: [np.hypot(*q) - 1.0, 3.0 - np.hypot(*q)], length=1.0)
    line = hypotheses(jo.Sweeping(q0=[2.0, 0.0], within=ring))["convex"]
    assert (line.verdict, "constraint 1" in line.detail) == (FAILS, True)
    disc = jo.constraints(lambda t, q: [np.hypot(*q) - 1.0])
    assert hypotheses(jo.Sweeping(q0=[2.0, 0.0], within=disc))["convex"].verdict == UNKNOWN
    assert hypotheses(jo.Sweeping(q0=[0.5, 0.0], within=jo.Inside([0.0, 0.0], 1.0)))["convex"].verdict == FAILS


def test_constants_of_a_constraint_of_the_user_are_differenced():
    """x y - 1 at (1, 1): |grad| = sqrt(2), |D2| = 1, not convex."""
    curve = jo.constraints(lambda t, q: [q[0] * q[1] - 1.0])
    report = hypotheses(jo.Sweeping(q0=[1.0, 1.0], within=curve))
    assert report["(A1)"].values["alpha"] == pytest.approx(2**0.5, rel=1e-6)
    assert report["(A4)"].values["M"] == pytest.approx(1.0, rel=1e-3)
    assert report["convex"].verdict == FAILS
    assert report["(A0)"].verdict == UNKNOWN


def test_convex_sets_of_paoli_2005():
    """Half-spaces and the inside of a disc are convex, balls are not."""
    inside = jo.Motion(q0=[0.5, 0.0], within=jo.Inside([0.0, 0.0], 1.0))
    for problem, verdict in ((wedge(60.0), HOLDS), (inside, HOLDS), (discs(PAIR), FAILS)):
        assert hypotheses(problem)["Paoli 2005 (H2)"].verdict == verdict


def test_functions_of_the_user_cannot_be_checked_but_their_slope_is_told():
    spring = jo.Motion(q0=[1.0, 2.0], force=lambda t, q, u: -3.0 * q - 0.5 * u, within=jo.HalfSpace([1.0, 0.0]))
    line = hypotheses(spring)["Paoli 2005 (H1)"]
    assert line.verdict == UNKNOWN
    assert line.values == pytest.approx({"slope in q": 3.0, "slope in u": 0.5}, rel=1e-6)
    assert hypotheses(discs(PAIR))["Paoli 2005 (H1)"].verdict == HOLDS


def test_a_start_that_approaches_is_told():
    report = hypotheses(discs(PAIR, v0=[[1.0, 0.0], [0.0, 0.0]]))
    line = report["Paoli 2010 start"]
    assert (line.verdict, line.values["lowest gap rate"]) == (FAILS, -1.0)
    assert "balls 0 and 1" in line.detail
    assert hypotheses(discs(PAIR, v0=[[-1.0, 0.0], [0.0, 0.0]]))["Paoli 2010 start"].verdict == HOLDS


def test_the_double_pendulum_at_its_stop():
    """P19: |grad g| in the metric M^-1 is sqrt of (M^-1)_11 = 1 / (2 - cos^2)."""
    q = [0.0, 0.489252572436]
    report = hypotheses(jo.models.double_pendulum(), q)
    assert report["(A1)"].values["alpha"] == pytest.approx((2.0 - np.cos(q[1]) ** 2) ** -0.5, rel=1e-9)
    assert report["(H6)"].verdict == HOLDS
    assert report["Paoli 2010 (H4)"].verdict == UNKNOWN


def test_along_a_solution_the_worst_time_is_shown():
    """A disc that meets a second, then a third one: gamma rises from 1 to 2."""
    row = jo.Sweeping(q0=[[0.0], [1.5], [3.0]], velocity=[[1.0], [0.0], [0.0]], within=jo.Balls([0.5] * 3))
    sol = jo.solve(row, jo.Venel(), t=3.0, h=0.1)
    line = hypotheses(sol)["(A5')"]
    assert line.values["gamma"] == pytest.approx(2.0, rel=1e-6)
    assert line.detail.endswith("t = 1.5")  # 0.5 at speed 1, then 0.5 at speed 1/2


def test_along_a_solution_of_paoli_contacts_are_closed_where_z_touches():
    """q itself leaves K with e > 0; P09: the shot along the bisector meets both walls at once."""
    shot = wedge(60.0, law=jo.Restitution(1.0))
    c = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
    shot = jo.Motion(q0=c, v0=-c, within=shot.within, law=shot.law)
    report = hypotheses(jo.solve(shot, jo.Paoli(), t=2.0, h=0.01))
    assert report["(H6)"].verdict == FAILS
    assert report["(H6)"].values["cosine"] == pytest.approx(-0.5)
    assert "t = 1" in report["(H6)"].detail


def test_a_solution_from_a_file_needs_its_problem(tmp_path):
    people = jo.Sweeping(q0=CHAIN, velocity=[[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]], within=jo.Balls([0.5] * 3))
    sol = jo.solve(people, jo.Venel(), t=0.2, h=0.1, output=tmp_path / "run.vtkhdf")
    path = tmp_path / "run.vtkhdf"
    assert hypotheses(jo.io.read(path, people))["(A5')"].values["gamma"] == pytest.approx(2.0, rel=1e-6)
    with pytest.raises(jo.InvalidValue, match="give the problem"):
        hypotheses(jo.io.read(path))
    assert sol.status == "finished"


def test_bodies_that_are_not_there_have_no_contacts():
    row = jo.Sweeping(q0=CHAIN, within=jo.Balls([0.5] * 3), present=[True, True, False])
    assert hypotheses(row)["(A5')"].values["gamma"] == pytest.approx(1.0)


def test_a_periodic_space_has_no_bound():
    ring = jo.Sweeping(q0=CHAIN, within=jo.Balls([0.5] * 3, period=[3.0, np.inf]))
    line = hypotheses(ring)["(A5')"]
    assert line.verdict == FAILS  # three discs around a ring of length three balance each other
    assert "bound" not in line.values


def test_equalities_are_told_and_left_out():
    """The papers know inequalities only: a pendulum on a rod above a floor."""
    rod = jo.Rods([(0, -1)], 1.0, points=[[0.0, 1.0]])
    bob = jo.Motion(q0=[[0.0, 0.0]], within=rod & jo.HalfSpace([0.0, 1.0]))
    report = hypotheses(bob)
    line = report["Paoli 2010 inequalities"]
    assert (line.verdict, line.values["equalities"]) == (FAILS, 1.0)
    assert report.sections[0].verdict == FAILS
    assert report["(A6')"].values["gamma"] == pytest.approx(1.0)  # of the floor alone
    assert report["Paoli 2010 (H3)"].values["gradients"] == 1.0


def test_the_units_do_not_matter():
    """Lengths a thousand times larger: the same verdicts, gamma and angles; lengths scale."""
    for scale in (1e-3, 1e3):
        q = scale * np.array(SQUARE)
        report = hypotheses(jo.Motion(q0=q, within=jo.Balls([0.5 * scale] * 4)))
        base = hypotheses(discs(SQUARE))
        assert [line.verdict for line in report] == [line.verdict for line in base]
        assert report["(A6')"].values["gamma"] == pytest.approx(base["(A6')"].values["gamma"])
        assert report["eta"].values["eta"] == pytest.approx(scale * base["eta"].values["eta"])


def test_a_report_is_a_table_in_text_and_in_html():
    report = hypotheses(wedge(120.0))
    text, page = repr(report), report._repr_html_()
    for line in report:
        assert line.name in text
    assert "(H6)" in page
    assert "&lt;grad g_a" in page
    assert page.count("<tr>") == sum(len(section.lines) for section in report.sections) + len(report.sections)
    assert {line.name for line in report.failing} >= {"(H5)", "(H6)"}


def test_a_line_is_found_by_name_and_paper():
    report = hypotheses(wedge(120.0))
    with pytest.raises(jo.InvalidValue, match="several sections"):
        report["(H3)"]
    with pytest.raises(jo.InvalidValue, match="unknown line"):
        report["(Z9)"]
    assert report["H6"] is report["Paoli 2010 (H6)"]


def test_q_of_another_shape_is_refused():
    with pytest.raises(jo.InvalidValue, match="shape of q0"):
        hypotheses(wedge(60.0), [0.0, 0.0, 0.0])


def test_a_prox_regularity_that_is_not_known_is_no_proof_that_every_step_is_short_enough():
    """In many coordinates, second derivatives of a function of the user are not computed."""
    n = 50
    Q = jo.constraints(lambda t, q: np.array([q @ q - 0.25]))
    report = hypotheses(jo.Motion(q0=np.full(n, 1.0), v0=np.full(n, 0.5), within=Q))
    assert np.isnan(report["eta"].values.get("eta", np.nan))
    assert report["Paoli"].verdict == UNKNOWN
