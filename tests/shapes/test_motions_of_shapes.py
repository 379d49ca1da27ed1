"""Motions of rigid shapes in the plane, compared with exact answers; g = 9.81."""

import numpy as np
import pytest

import jostle as jo

G = 9.81
SHARP = 1e-8
FLOOR = jo.HalfSpace([0.0, 1.0])
STICKS = jo.Coulomb(100.0)


def body(shape, walls, q0, **more):
    return jo.Motion(q0=[q0], within=jo.Shapes([shape]) & walls, **more)


def first_step(problem, scheme=None, h=1e-4):
    return jo.solve(problem, scheme or jo.Maury(), t=h, h=h)


def rod(half, r=SHARP):
    return jo.shapes.Capsule(2.0 * half, r), half**2 / 3.0


@pytest.mark.parametrize("law", [None, STICKS], ids=["S01, smooth", "S33, rough"])
def test_a_rod_that_falls_on_a_floor_spins_as_its_impulse_says(law):
    angle, v, r = 0.5, 2.0, 1e-3
    shape, inertia = rod(1.0, r)
    along, up = np.cos(angle), np.sin(angle) + r  # the lever of the contact
    problem = body(shape, FLOOR, [0.0, up], v0=[0.0, -v], orientation0=angle, inertia=inertia, law=law)
    spin = first_step(problem, jo.MoreauJean(), h=1e-12).spin[-1, 0]
    wanted = v * along / (inertia + along**2 + (0.0 if law is None else up**2))
    np.testing.assert_allclose(abs(spin), wanted, rtol=1e-7)
    np.testing.assert_allclose(wanted, 1.590566198 if law is None else 1.316373843, rtol=1e-3)


def test_a_tall_box_tips_on_an_incline_s03():
    b, height, slope, h = 1.0, 2.0, np.radians(35.0), 1e-3
    up, along = np.array([-np.sin(slope), np.cos(slope)]), np.array([np.cos(slope), np.sin(slope)])
    box = jo.shapes.Box([b, height], rounding=SHARP)
    problem = body(box, jo.HalfSpace(up), height / 2.0 * up, force=[0.0, -G], orientation0=slope, law=jo.Coulomb(1.0))
    sol = first_step(problem, h=h)
    np.testing.assert_allclose(sol.spin[-1] / h, 0.965306438, rtol=1e-6)
    assert sol.u[-1, 0] @ along < 0.0


@pytest.mark.parametrize(
    ("shape", "pivot", "answer"),
    [
        (jo.shapes.Box([1.0, 3.0], rounding=SHARP), [0.5, 1.5], 0.85),
        (jo.shapes.Polygon(np.array([[np.cos(a), np.sin(a)] for a in np.pi / 3.0 * np.arange(6)]), rounding=SHARP),
         [0.5, np.sqrt(0.75)], 11.0 / 17.0),
    ],
    ids=["S05, Housner's block", "S31, hexagonal pencil"],
)  # fmt: skip
def test_a_block_that_rocks_loses_spin_when_it_lands(shape, pivot, answer):
    """It turns about its left corner, and its right one lands."""
    x, y = pivot
    tilt, spin = 1e-9, -1.0
    problem = body(
        shape, FLOOR, [0.0, y + x * tilt], v0=[spin * -y, spin * x], spin0=spin, orientation0=tilt, law=STICKS
    )
    sol = jo.solve(problem, jo.MoreauJean(), t=1e-7, h=1e-8)
    np.testing.assert_allclose(sol.spin[-1, 0] / spin, answer, rtol=1e-6)


@pytest.mark.parametrize(("more", "slides"), [(1e-3, False), (-1e-3, True)])
def test_a_ladder_stands_if_it_is_steep_s07(more, slides):
    angle = 1.030376827 + more
    shape, inertia = rod(1.0)
    wall = FLOOR & jo.HalfSpace([1.0, 0.0])
    law = jo.Coulomb({"wall 0": 0.3, "wall 1": 0.0})
    at = [np.cos(angle) + SHARP, np.sin(angle) + SHARP]
    problem = body(shape, wall, at, force=[0.0, -G], orientation0=-angle, inertia=inertia, law=law)
    sol = jo.solve(problem, jo.Maury(), t=0.1, h=0.01)
    assert (abs(sol.spin[-1, 0]) > 1e-4) == slides


def test_a_ladder_that_slides_leaves_the_wall_s09():
    angle, h = 1.2, 2e-3
    shape, inertia = rod(1.0)
    wall, at = FLOOR & jo.HalfSpace([1.0, 0.0]), [np.cos(angle) + SHARP, np.sin(angle) + SHARP]
    problem = body(shape, wall, at, force=[0.0, -G], orientation0=-angle, inertia=inertia)
    left = lambda state: state.t > 0.1 and not state.multipliers[state.contacts.pairs[:, 1] == -2].sum() > 0.0  # noqa: E731
    sol = jo.solve(problem, jo.Maury(), t=0.8, h=h, until=left)
    np.testing.assert_allclose(-sol.orientation[-1, 0], 0.6704764784, rtol=1e-2)


@pytest.mark.parametrize(("mu", "jams"), [(1.32, False), (1.35, True)])
def test_a_rod_that_slides_jams_beyond_painleves_coefficient_s11(mu, jams):
    """At tan(angle) = 2, where the coefficient 4/3 is the smallest one of all angles."""
    angle = np.arctan(2.0)
    shape, inertia = rod(1.0)
    at, h = [0.0, np.sin(angle) + SHARP], 1e-6
    problem = body(
        shape, FLOOR, at, v0=[10.0, 0.0], force=[0.0, -G], orientation0=np.pi - angle, inertia=inertia,
        law=jo.Coulomb(mu),
    )  # fmt: skip
    sol = first_step(problem, h=h)
    assert (sol.multipliers[-1].sum() > 1e3 * G * h) == jams


def test_a_disc_in_a_groove_s17():
    half = np.radians(50.0)
    groove = jo.HalfSpace([np.cos(half), np.sin(half)]) & jo.HalfSpace([-np.cos(half), np.sin(half)])
    r, h = 0.3, 1e-2
    capsule = jo.shapes.Capsule(1.0, r)
    problem = body(capsule, groove, [0.0, r / np.sin(half) + 0.5], force=[0.0, -G], orientation0=np.pi / 2.0)
    sol = first_step(problem, h=h)
    np.testing.assert_allclose(sol.multipliers[-1], 0.6527036447 * G * h, rtol=1e-9)


def test_a_block_on_a_wedge_pushes_it_aside_s19():
    slope, h, M = np.radians(30.0), 1e-4, 3.0
    wedge = jo.shapes.Polygon([(0.0, 0.0), (4.0, 0.0), (4.0, 4.0 * np.tan(slope))])
    up = np.array([-np.sin(slope), np.cos(slope)])
    block = np.array([2.0, 2.0 * np.tan(slope)]) + 0.2 * up
    problem = jo.Motion(
        q0=[wedge.centre, block], orientation0=[0.0, slope], mass=[M, 1.0], force=[[0.0, -G * M], [0.0, -G]],
        within=jo.Shapes([wedge, jo.shapes.Box([0.8, 0.4])]) & FLOOR,
    )  # fmt: skip
    sol = first_step(problem, h=h)
    np.testing.assert_allclose(sol.u[-1, 0, 0] / h, 1.307032186, rtol=1e-8)
    np.testing.assert_allclose(sol.spin[-1], 0.0, atol=1e-9)


def test_a_thin_domino_gains_speed_until_it_hits_the_next_one_s25():
    height, gap, h, w0, thin = 0.05, 0.02, 2e-4, 1.0, 1e-3
    at, next_one = [-thin / 2.0, height / 2.0], jo.HalfSpace([-1.0, 0.0], -gap)
    problem = body(
        jo.shapes.Box([thin, height], rounding=SHARP), FLOOR & next_one, at, law=jo.Coulomb({"wall 0": 100.0}),
        spin0=-w0, v0=[w0 * height / 2.0, w0 * thin / 2.0], force=[0.0, -G],
    )  # fmt: skip
    sol = jo.solve(problem, jo.Maury(), t=0.25, h=h, until=lambda state: abs(state.spin[0]) < 0.9)
    tilt = np.arcsin(gap / height)

    def spin(thin):
        fallen = height / 2.0 * (1.0 - np.cos(tilt)) - thin / 2.0 * np.sin(tilt)
        return np.sqrt(w0**2 + 6.0 * G * fallen / (height**2 + thin**2))

    np.testing.assert_allclose(spin(0.0), 7.080903134, rtol=1e-9)
    np.testing.assert_allclose(-sol.spin.min(), spin(thin), rtol=1e-2)


def test_a_rod_rests_over_the_rim_of_a_smooth_bowl_s43():
    half, angle = 1.2, np.arccos(0.8728416147)
    shape, inertia = rod(half, 1e-6)
    turned = []
    for tilt in (angle - 0.01, angle, angle + 0.01):
        end = -np.array([np.cos(2.0 * tilt), np.sin(2.0 * tilt)])
        along = np.array([np.cos(tilt), np.sin(tilt)])
        bowl = jo.HalfSpace(-end, -1.0)  # its tangent where the rod ends
        rim = jo.Segments([[[1.0, 0.0], [1.0, -5.0]]])
        at = end + half * along + 2e-6 * np.array([-np.sin(tilt), np.cos(tilt)]) - 2e-6 * end
        problem = body(shape, bowl & rim, at, force=[0.0, -G], orientation0=tilt, inertia=inertia)
        turned.append(float(first_step(problem, h=0.01).spin[-1, 0]) / 0.01)
    assert turned[0] * turned[2] < 0.0
    assert abs(turned[1]) < 0.02 * abs(turned[2] - turned[0])


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean()], ids=["Maury", "MoreauJean"])
@pytest.mark.parametrize(
    "law", [None, jo.Coulomb(0.5), jo.Coulomb(0.5, rolling=1e-3)], ids=["smooth", "rough", "rolling"]
)
def test_a_tower_of_eight_boxes_stands(scheme, law):
    n, h = 8, 5e-3
    q0 = np.array([[0.0, 0.5 + k] for k in range(n)])
    tower = jo.Motion(q0=q0, force=[0.0, -G], law=law, within=jo.Shapes([jo.shapes.Box([1.0, 1.0])] * n) & FLOOR)
    sol = jo.solve(tower, scheme, t=0.5, h=h)
    moved = 1e-4 if law is not None and law.rolls else 1e-5
    assert abs(sol.q - q0).max() < moved
    assert abs(sol.orientation).max() < moved
    base = [p[pairs[:, 1] < 0].sum() for p, pairs in zip(sol.multipliers[1:], sol.pairs[1:], strict=True)]
    np.testing.assert_allclose(
        np.mean(base), n * G * h, rtol=1e-3 if isinstance(scheme, jo.MoreauJean) else moved / 10.0
    )


def test_a_capsule_that_lies_on_a_box_does_not_rock():
    capsule, box = jo.shapes.Capsule(1.0, 0.2), jo.shapes.Box([3.0, 1.0])
    q0 = np.array([[0.0, 0.5], [0.2, 1.2]])
    problem = jo.Motion(q0=q0, force=[0.0, -G], law=jo.Coulomb(0.5), within=jo.Shapes([box, capsule]) & FLOOR)
    sol = jo.solve(problem, jo.Maury(), t=0.5, h=5e-3)
    assert abs(sol.q - q0).max() < 1e-6
    assert abs(sol.orientation).max() < 1e-6
    assert len(sol.multipliers[-1]) == 4


def test_a_bar_that_is_hit_at_its_end_conserves_momentum_and_angular_momentum():
    shapes = [jo.shapes.Box([2.0, 0.3]), jo.shapes.Polygon([(0.0, 0.0), (0.6, 0.0), (0.2, 0.5)])]
    mass = np.array([1.0, 2.0])
    for e, scheme in ((0.0, jo.Maury()), (0.0, jo.MoreauJean()), (1.0, jo.MoreauJean())):
        hit = jo.Motion(
            q0=[[0.0, 0.0], [0.8, 1.0]], v0=[[0.0, 0.0], [0.1, -2.0]], spin0=[0.0, 0.5], mass=mass,
            law=jo.Restitution(e), within=jo.Shapes(shapes),
        )  # fmt: skip
        sol = jo.solve(hit, scheme, t=0.8, h=1e-3)
        inertia = mass * [shape.inertia[0] for shape in shapes]
        q, u = np.asarray(sol.q), np.asarray(sol.u)
        spins = (mass * (q[..., 0] * u[..., 1] - q[..., 1] * u[..., 0])).sum(axis=1) + (inertia * sol.spin).sum(axis=1)
        assert np.ptp((mass[:, None] * u).sum(axis=1), axis=0).max() < 1e-9
        assert np.ptp(spins) < (1e-9 if isinstance(scheme, jo.Maury) else 1e-3)
        kinetic = sol.energy().kinetic
        assert kinetic[-1] < (0.999 if e == 0.0 else 1.0 + 1e-9) * kinetic[0]
        assert abs(sol.spin[-1, 0]) > 0.5
        if e == 1.0:
            np.testing.assert_allclose(kinetic[-1], kinetic[0], rtol=1e-9)


GROUND = jo.HalfSpace([0.0, 0.0, 1.0])


def test_a_tower_of_boxes_stands_in_space():
    n, h = 4, 5e-3
    q0 = np.array([[0.0, 0.0, 0.5 + k] for k in range(n)])
    within = jo.Shapes([jo.shapes.Box([1.0, 1.0, 1.0])] * n) & GROUND
    sol = jo.solve(jo.Motion(q0=q0, force=[0.0, 0.0, -G], law=jo.Coulomb(0.5), within=within), jo.Maury(), t=0.2, h=h)
    assert abs(sol.q - q0).max() < 1e-5
    assert len(sol.multipliers[-1]) == 4 * n
    np.testing.assert_allclose(np.mean([p[-4:].sum() for p in sol.multipliers[1:]]), n * G * h, rtol=1e-4)


def test_a_tall_box_tips_on_an_incline_in_space_as_in_the_plane():
    b, height, slope, h = 1.0, 2.0, np.radians(35.0), 1e-3
    up = np.array([-np.sin(slope), 0.0, np.cos(slope)])
    box = jo.shapes.Box([b, b, height], rounding=SHARP)
    turned = [np.cos(slope / 2.0), 0.0, -np.sin(slope / 2.0), 0.0]
    problem = body(
        box, jo.HalfSpace(up), height / 2.0 * up, force=[0.0, 0.0, -G], orientation0=turned, law=jo.Coulomb(1.0)
    )
    np.testing.assert_allclose(np.linalg.norm(first_step(problem, h=h).spin[-1]) / h, 0.965306438, rtol=1e-6)


def test_shapes_in_space_fall_on_each_other_without_deep_overlaps_and_are_saved(tmp_path):
    shapes = [
        jo.shapes.Box([1.0, 0.6, 0.4]),
        jo.shapes.Capsule(1.0, 0.25),
        jo.shapes.Ball(0.3),
        jo.shapes.Box([0.5] * 3),
    ]
    q0 = [[0.0, 0.0, 1.0], [1.2, 0.0, 1.2], [0.0, 0.1, 2.0], [0.2, 0.3, 2.8]]
    turned = np.array([[1.0, 0.3, 0.0, 0.2], [1.0, 0.0, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0], [1.0, 0.4, 0.4, 0.0]])
    problem = jo.Motion(
        q0=q0, orientation0=turned, force=[0.0, 0.0, -G], law=jo.Coulomb(0.4),
        within=jo.Shapes(shapes) & GROUND & jo.Outside([0.0, 0.0, 0.0], 0.4),
    )  # fmt: skip
    sol = jo.solve(problem, jo.Maury(), t=0.6, h=5e-3)
    assert sol.overlap < 1e-2
    found = jo.io.read(jo.io.write(sol, tmp_path / "run.vtkhdf", dtype="float64"))
    np.testing.assert_array_equal(found.q, sol.q)
    np.testing.assert_array_equal(found.facts.parts.core, problem.bodies.parts.core)
    acting = sol.multipliers[-1] != 0.0
    np.testing.assert_allclose(found.contact_points(-1), sol.contact_points(-1)[acting], atol=1e-12)
    with pytest.raises(jo.errors.InvalidValue, match="shapes in space cannot be drawn yet"):
        jo.viz.draw(sol)


def test_the_edge_of_a_bar_rests_on_the_corner_of_an_obstacle():
    """A bar that lies on the tip of a triangle: the force acts at the tip."""
    tip = jo.Polygons([(-1.0, -1.0), (1.0, -1.0), (0.0, 0.0)])
    bar = body(jo.shapes.Box([2.0, 0.2]), tip, [0.0, 0.1], force=[0.0, -G], law=jo.Coulomb(0.5))
    sol = jo.solve(bar, jo.Maury(), t=0.1, h=0.01)
    np.testing.assert_allclose(sol.contact_points(-1), [[0.0, 0.0]], atol=1e-7)
    np.testing.assert_allclose(sol.multipliers[-1], G * 0.01, rtol=1e-6)


def test_shapes_that_are_not_taken_yet_are_refused():
    with pytest.raises(jo.errors.InvalidValue, match="cannot be a body yet: use polygons"):
        jo.Shapes([jo.shapes.Ellipsoid([1.0, 0.5])])


def test_capsules_alone_are_in_space_where_positions_are():
    capsules = jo.Shapes([jo.shapes.Capsule(1.0, 0.2)] * 2) & GROUND & jo.Outside([0.0, 0.0, 0.0], 0.5)
    problem = jo.Motion(q0=[[0.0, 0.0, 1.0], [0.2, 0.1, 1.6]], force=[0.0, 0.0, -G], within=capsules)
    sol = jo.solve(problem, jo.Maury(), t=0.3, h=0.01)
    assert problem.bodies.parts.arms.shape == (4, 3)
    assert sol.overlap < 1e-2
    assert sol.q[-1, 0, 2] > 0.7 - 2e-3


def test_walls_with_radii_of_their_own_are_refused():
    with pytest.raises(jo.errors.InvalidValue, match="leave out its radii="):
        jo.Shapes([jo.shapes.Box([1.0, 1.0])]) & jo.HalfSpace([0.0, 1.0], radii=0.1)
