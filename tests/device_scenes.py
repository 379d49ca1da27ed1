"""Small problems with everything that runs on a device, for the tests of the pretended one and of a GPU."""

import numpy as np

import jostle as jo
from plain import crowd as plain_crowd

SOLVER = jo.GaussSeidel(tol=1e-6)


def spread(n, d, low, high, seed=0):
    """n places on a lattice between two corners, each moved a little."""
    side = int(np.ceil(n ** (1.0 / d)))
    index = np.stack(np.unravel_index(np.arange(n), (side,) * d), axis=1)
    jitter = np.random.default_rng(seed).uniform(-0.03, 0.03, (n, d))
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    return low + (index + 0.5 + jitter) * (high - low) / side


def thrown(n, d, low, high, within, **more):
    v0 = np.random.default_rng(1).uniform(-1.0, 1.0, (n, d))
    return jo.Motion(q0=spread(n, d, low, high), v0=v0, within=within, **more)


def pile(d):
    radii = np.random.default_rng(0).uniform(0.4, 0.5, 80)
    return jo.models.spheres(radii, box=([0] * d, [4.0 if d == 3 else 6.0] * (d - 1) + [np.inf]))


def periodic():
    return thrown(100, 2, [0, 0], [10, 10], jo.Balls(np.full(100, 0.45), period=[10.0, 10.0]))


def silo():
    wall = jo.Vessel([(0.3, 0.0), (2.0, 1.5), (2.0, 9.0)])
    return thrown(70, 3, [-1.2, -1.2, 2.2], [1.2, 1.2, 6.0], jo.Balls(np.full(70, 0.2)) & wall, force=[0, 0, -9.81])


def bottle():
    wall = jo.Vessel([(0.0, 0.0), (2.0, 0.0), (2.0, 9.0)], base=lambda t: [0.1 * np.sin(9.0 * t), 0.0, 0.0])
    return thrown(70, 3, [-1.2, -1.2, 0.5], [1.2, 1.2, 5.0], jo.Balls(np.full(70, 0.2)) & wall, force=[0, 0, -9.81])


def drum():
    wall = jo.Inside(lambda t: [0.1 * np.sin(9.0 * t), 0.0], 5.0)
    return thrown(80, 2, [-3, -3], [3, 3], jo.Balls(np.full(80, 0.25)) & wall, force=[0, -9.81])


def growing():
    radii = np.linspace(0.3, 0.36, 80)
    return thrown(80, 2, [0, 0], [8, 8], jo.Balls(lambda t: radii * (1.0 + 0.2 * t)) & jo.Box([0, 0], [8, 8]))


def piston():
    wall = jo.HalfSpace([1.0, 0.0], offset=lambda t: 0.8 * t) & jo.Box([-np.inf, 0.0], [9.0, 9.0])
    return thrown(80, 2, [0, 0], [9, 9], jo.Balls(np.full(80, 0.35)) & wall)


def pegs():
    walls = jo.Outside([[2.0, 1.0], [5.0, 1.0]], 0.7) & jo.Polygons([[(3, -1), (4, -1), (3.5, 0.5)]])
    walls = walls & jo.Segments([[[0, -1], [7, -1]]]) & jo.Box([0.0, -np.inf], [7.0, np.inf])
    return thrown(80, 2, [0, 2], [7, 9], jo.Balls(np.full(80, 0.3)) & walls, force=[0.0, -9.81])


def turning():
    def arm(t):
        return [[(0, 0), (3 * np.cos(t), 3 * np.sin(t)), (0.1 * np.cos(t + 1.5), 0.1 * np.sin(t + 1.5))]]

    q0 = spread(70, 2, [-4, 0.6], [4, 6])
    return jo.Sweeping(q0=q0, velocity=[0.0, -1.0], within=jo.Balls(np.full(70, 0.25)) & jo.Polygons(arm))


def weighted_queue():
    q0, radii = spread(80, 2, [0, 0], [8, 8]), np.full(80, 0.35)
    within = jo.Balls(radii) & jo.Box([0.0, 0.0], [8.0, 8.0])
    return jo.Sweeping(q0=q0, velocity=lambda t, q: [8.0, 4.0] - q, within=within, mass=np.linspace(1.0, 5.0, 80))


def blown():
    def force(t, q, u):
        assert type(q) is np.ndarray
        assert type(u) is np.ndarray
        return np.array([np.sin(t), 0.0]) - q - 0.1 * u

    return thrown(80, 2, [-4, -4], [4, 4], jo.Balls(np.full(80, 0.4)), force=force, mass=np.linspace(1.0, 3.0, 80))


def with_friction(d):
    heap = pile(d)
    law, spin = jo.Coulomb(0.4), np.random.default_rng(2).uniform(-3.0, 3.0, (80, 3) if d == 3 else 80)
    return jo.Motion(q0=heap.q0, v0=heap.v0, force=[0.0] * (d - 1) + [-9.81], within=heap.within, law=law, spin0=spin)


def belt():
    floor = jo.HalfSpace([0.0, 1.0]) & jo.HalfSpace([1.0, 0.0])
    law = jo.Coulomb({"wall 0": 0.8}, default=0.2, surface_velocity={"wall 0": [1.0, 0.0]})
    return thrown(60, 2, [0.5, 0.5], [6, 6], jo.Balls(np.full(60, 0.3)) & floor, force=[0.0, -9.81], law=law)


def lone_ball():
    return jo.Motion(q0=[0.0, 1.0], v0=[1.0, 0.0], force=[0.0, -9.81], within=jo.HalfSpace([0, 1]))


def few_balls():
    return thrown(5, 2, [0, 0], [4, 4], jo.Balls(np.full(5, 0.5)) & jo.Box([0, 0], [4, 4]))


def free():
    return jo.Motion(q0=np.zeros((3, 2)), v0=np.ones((3, 2)), force=[0.0, -1.0])


def crowd():
    room = jo.crowds.Room([(0, 0), (10, 0), (10, 8), (0, 8)], doors=[((10, 3.2), (10, 4.8))])
    return room, plain_crowd(60, radius=0.25, room=room, speed=1.4, seed=1)


SCENES = {
    "spheres in a box": lambda: pile(3), "a heap": lambda: pile(2), "periodic": periodic, "a silo": silo,
    "a bottle that is shaken": bottle, "radii that grow": growing, "a piston": piston, "pegs": pegs, "wind": blown,
    "one ball": lone_ball, "five balls": few_balls, "free": free, "an arm that turns": turning,
    "a drum that is shaken": drum, "friction in space": lambda: with_friction(3),
    "friction in the plane": lambda: with_friction(2), "a belt": belt,
    "a crowd": lambda: crowd()[1], "people with weights": weighted_queue,
}  # fmt: skip


def scheme_of(problem, solver=SOLVER):
    return jo.Maury(solver=solver) if isinstance(problem, jo.Motion) else jo.Venel(solver=solver)
