"""Bodies of convex shapes in space: what rests, what rolls, what is thrown."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import jostle as jo
from jostle.kernels.parallel import threads, use_threads

S, G = jo.shapes, 9.81
FLOOR = jo.HalfSpace([0.0, 0.0, 1.0])
CUBE, PLATE, ROD = S.Box([1.0, 1.0, 1.0]), S.Box([4.0, 4.0, 1.0]), S.Capsule(2.0, 0.3)
RIM = 2.0 * np.pi * (np.arange(24) + 0.5) / 24
PENCIL = S.Hull([(x, np.cos(a) / 2, np.sin(a) / 2) for a in RIM for x in (-1.0, 1.0)])
CROSS = S.Compound(
    [(S.Box([1.5, 0.5, 0.5]), [0, 0, 0], [1, 0, 0, 0]), (S.Box([0.5, 1.5, 0.5]), [0, 0, 0], [1, 0, 0, 0])]
)
EXACT = jo.Maury(solver=jo.Automatic(tol=1e-10))


def motion(shapes, q0, walls=FLOOR, mu=0.5, **more):
    return jo.Motion(q0=q0, force=[0.0, 0.0, -G], law=jo.Coulomb(mu), within=jo.Shapes(shapes) & walls, **more)


@pytest.mark.parametrize(
    ("shape", "height"),
    [(PENCIL, np.cos(np.pi / 24) / 2), (ROD, 0.3), (CROSS, 0.25), (CUBE, 0.5), (S.Ball(0.5), 0.5)],
    ids=["cylinder of 24 sides", "capsule", "cross", "box", "ball"],
)
def test_what_lies_on_a_plate_does_not_rock(shape, height):
    problem = motion([PLATE, shape], [[0.0, 0.0, 0.5], [0.2, 0.1, 1.0 + height]])
    sol = jo.solve(problem, EXACT, t=0.3, h=5e-3)
    assert abs(sol.q - problem.q0).max() < 1e-9
    assert abs(sol.spin).max() < 1e-7


def test_a_bowling_ball_stops_sliding_s27():
    v0, mu, h = 3.0, 0.25, 1e-3
    ball = motion([S.Ball(0.5)], [[0.0, 0.0, 0.5]], mu=mu, v0=[v0, 0.0, 0.0], spin0=[0.0, 0.0, 0.0])
    sol = jo.solve(ball, jo.Maury(), t=0.4, h=h)
    slips = sol.u[:, 0, 0] - 0.5 * sol.spin[:, 0, 1]
    rolls = sol.t[np.argmax(abs(slips) < 1e-9)]
    assert_allclose(2 * v0 / (7 * mu * G), 0.3494975972, rtol=1e-9)
    assert rolls - h <= 0.3494975972 <= rolls
    assert_allclose(sol.u[-1, 0, 0], 5 / 7 * v0, rtol=1e-9)


def test_a_box_meets_round_obstacles_with_its_faces():
    """Its corners never come near the ball that its face slides over."""
    walls = jo.Outside([[0.0, 0.0, 0.0]], 0.5) & FLOOR
    box = motion([PLATE], [[0.3, 0.2, 1.3]], walls, mu=0.1, spin0=[0.0, 0.0, 0.0])
    sol = jo.solve(box, jo.Maury(), t=0.5, h=2e-3)
    assert sol.q[:, 0, 2].min() > 0.9
    assert abs(sol.orientation[-1, 0, 1:]).max() > 0.05
    assert sol.overlap < 1e-3


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean()], ids=["Maury", "MoreauJean"])
def test_shapes_that_are_thrown_into_a_box_stay_apart(scheme):
    random = np.random.default_rng(2)
    shapes = [CUBE, S.Capsule(1.0, 0.3), S.Ball(0.5), PENCIL, CROSS] * 2
    q0 = [[2.4 * (k % 2), 2.4 * (k // 2 % 2), 1.5 + 2.4 * (k // 4)] for k in range(10)]
    turns = random.normal(size=(10, 4))
    start = {"orientation0": turns / np.linalg.norm(turns, axis=1, keepdims=True), "spin0": random.normal(size=(10, 3))}
    walls = jo.Box([-1.5, -1.5, 0.0], [3.9, 3.9, np.inf])
    thrown = motion(shapes, q0, walls, mu=0.3, **start)
    sol = jo.solve(thrown, scheme, t=0.8, h=5e-3)
    within = thrown.within.sets[0]
    half = within.parts.length
    fastest = max(np.linalg.norm(sol.spin, axis=2).max(), 1.0)
    # of second order in the turn of a step, for both bodies of a pair; of first order at the impacts of MoreauJean
    allowed = (
        4.0 * (5e-3 * fastest) ** 2 if isinstance(scheme, jo.Maury) else 5e-3 * np.linalg.norm(sol.u, axis=2).max()
    )
    assert sol.overlap * half < allowed
    height = sol.q[:, :, 2] @ np.ones(10)
    assert height[-1] < height[0]


def test_a_run_has_the_same_bits_for_each_number_of_threads():
    shapes = [CUBE, S.Capsule(1.0, 0.3), CROSS] * 3
    q0 = [[1.8 * (k % 3), 0.1 * k, 0.6 + 1.2 * (k // 3)] for k in range(9)]
    before, found = threads(), []
    try:
        for count in (1, before):
            use_threads(count)
            found.append(jo.solve(motion(shapes, q0), jo.Maury(), t=0.1, h=1e-2).q)
    finally:
        use_threads(before)
    assert_array_equal(*found)


def test_an_overlapping_start_names_the_pair_and_the_depth():
    with pytest.raises(jo.InfeasibleStart, match=r"boxes 0 and 1"):
        jo.solve(motion([CUBE] * 2, [[0.0, 0.0, 0.5], [0.1, 0.2, 1.2]]), jo.Maury(), t=0.1, h=0.01)
    with pytest.raises(jo.InvalidValue, match=r"Ellipsoid\(\[1.0, 2.0, 1.0\]\) cannot be a body yet"):
        jo.Shapes([S.Ellipsoid([1.0, 2.0, 1.0])])
    with pytest.raises(jo.InvalidValue, match=r"shape 0, .* is in the plane, and shape 1, .* in space"):
        jo.Shapes([S.Box([1.0, 1.0]), CUBE])
