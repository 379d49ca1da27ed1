"""Friction beside pymunk, Box2D, MuJoCo: ``python benchmarks/friction_peers.py [--quick] [--only box ...] [--seed 1]``.

Each scene is the same for all programs: radii, masses, moments of inertia, friction coefficient, gravity and time step.

discs    2000 discs fall onto a plane inclined by 10 degrees, between a wall at its foot and one at its head
spheres  the same with 2000 spheres and two walls at the sides
wall     10 rows of 10 discs, each row moved by a radius, are stacked between two posts
box      1000 discs fall into a box with a level floor

mu = 0.5. All of them should come to rest: 10 degrees is less than the angle of repose, and a row in the wall lies in
the hollows of the row below it. Each program lets the scene settle for 3 s, and then it should rest for 10 s (spheres:
2 s and 2 s; box: 5 s and 2 s); a program that needs more than a minute of CPU time for the rest is stopped. All
programs use one thread.

CPU        CPU seconds for one simulated second, while the scene settles and when it should rest
ratio      the second one over that of the first line
overlap    the largest overlap of two bodies, or of a body and a wall, over the mean radius: settling, and at rest
rest       seconds for which the scene should have rested
rms        root mean square of the velocities of all bodies while the scene should rest, in m/s
creep      how far a body moved in these seconds, over the mean radius: the median body, and the worst one

and the residuals of Coulomb's law, which the same code computes for all programs, in some of the steps, from the
contacts, impulses and velocities that the program itself reports (p_n and p_T: impulses of a contact in a step; s_n and
s_T: relative velocity of the two surfaces after the step; an open gap g counts as g / h in s_n; r: reduced mass):

cone       the largest |p_T| - mu p_n, over the largest p_n
normal     sum p_n |s_n| over g h sum p_n: contacts that push must stay closed
friction   sum (mu p_n |s_T| + p_T . s_T) over g h sum mu p_n: contacts inside the cone must stick, others must slide
           against their friction
natural    the natural map |p - P_K(p - r (s + mu |s_T| n))| over |p|, norms over all contacts; 0 if and only if
           Coulomb's law holds in each contact

balance    the largest momentum of a body that the reported impulses do not explain, over that of its weight in a step

Box2D (v3, its WebAssembly build in node) steps the box alone, with its default of 4 sub-steps, without sleep; it
reports no impulses, so that the residuals are left out. pymunk has its default of 10 iterations, and 100; its units are
centimetres, so that its default slop is 1 % of a radius. MuJoCo has its defaults (pyramidal cones, contacts with a time
constant of 20 ms); for spheres and the wall also elliptic cones, and its options against slip (elliptic cones, impratio
10, 10 iterations of noslip) with the shortest time constant that its manual allows, two steps. Its solver is Newton's
method, the default, for discs and the wall, and CG for spheres, where a step with Newton's method takes many times
longer. In the plane its spheres slide along two axes and turn about the third, with the inertia of discs. jostle has
`Maury` with `Automatic` at two tolerances, and, but for the box, a budget of 300 sweeps at a third one; `missed` in the
last line is the number of steps that did not reach the tolerance.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse.linalg  # noqa: F401  (its threads must be known before they are limited)
from game_physics import box2d
from threadpoolctl import threadpool_limits

import jostle as jo

MU, GRAVITY, RADIUS, H = 0.5, 9.81, 0.1, 5e-3
"""Friction coefficient, acceleration (m/s^2), mean radius (m) and time step (s)."""
DEGREES = 10.0
"""Inclination of the plane."""
FAR = 100.0
"""Half the length of pymunk's walls, in m."""
CENTIMETRES = 100.0
"""Units of pymunk in a metre."""
MOST_CPU = 60.0
"""A program that has used this many CPU seconds while a scene should rest is stopped."""
LOOKS = 50
"""Steps from one computation of the residuals of Coulomb's law to the next, while a scene should rest."""


@dataclass(frozen=True)
class Scene:
    """Balls and half-spaces: q . normal >= offset + radius for each wall."""

    q0: np.ndarray
    radii: np.ndarray
    mass: np.ndarray
    walls: list[tuple[list[float], float]]
    gravity: np.ndarray
    settling: float
    """Seconds until the scene should rest."""
    resting: float
    """Seconds for which it should rest."""

    @property
    def inertia(self) -> np.ndarray:
        return (0.5 if self.q0.shape[1] == 2 else 0.4) * self.mass * self.radii**2

    def admissible(self) -> Any:
        within: Any = jo.Balls(self.radii)
        for normal, offset in self.walls:
            within = within & jo.HalfSpace(normal, offset)
        return within


def heap(shape: tuple[int, ...], settling: float, resting: float, seed: int = 0) -> Scene:
    """Balls on a loose lattice above a plane that is inclined along its first axis; the last axis is its normal."""
    random, d = np.random.default_rng(seed), len(shape)
    places = np.stack(np.meshgrid(*(np.arange(k) for k in shape), indexing="ij"), axis=-1).reshape(-1, d)
    n, spacing = len(places), 2.2 * RADIUS
    q0 = spacing * (places + 0.5) + random.uniform(-0.04, 0.04, (n, d)) * RADIUS
    radii = random.uniform(0.9, 1.05, n) * RADIUS
    axes = np.eye(d)
    walls = [(axes[d - 1].tolist(), 0.0)]
    for axis in range(d - 1):
        walls += [(axes[axis].tolist(), 0.0), ((-axes[axis]).tolist(), -spacing * shape[axis])]
    gravity = np.zeros(d)
    gravity[0], gravity[-1] = -GRAVITY * np.sin(np.radians(DEGREES)), -GRAVITY * np.cos(np.radians(DEGREES))
    return Scene(q0, radii, (radii / RADIUS) ** d, walls, gravity, settling, resting)


def box(shape: tuple[int, int], settling: float, resting: float, seed: int = 0) -> Scene:
    """The discs of a heap in a box with a level floor."""
    discs = heap(shape, settling, resting, seed)
    return replace(discs, gravity=np.array([0.0, -GRAVITY]))


def wall_of_discs(side: int, settling: float, resting: float) -> Scene:
    """Rows of equal discs that touch their neighbours, alternately at the left and at the right post."""
    row, column = np.divmod(np.arange(side * side), side)
    x, y = 1.0 + 2.0 * column + row % 2, 1.05 + (np.sqrt(3.0) + 0.05) * row
    radii = np.full(side * side, RADIUS)
    walls = [([0.0, 1.0], 0.0), ([1.0, 0.0], 0.0), ([-1.0, 0.0], -(2.0 * side + 1.0) * RADIUS)]
    q0 = RADIUS * np.stack([x, y], axis=1)
    return Scene(q0, radii, np.ones(len(radii)), walls, np.array([0.0, -GRAVITY]), settling, resting)


class Contacts(NamedTuple):
    """The contacts of one step, as a program reports them; j is -1 for a wall."""

    i: np.ndarray
    j: np.ndarray
    normal: np.ndarray
    """(m, d) from i to j."""
    gap: np.ndarray
    """(m,) before the step."""
    impulse: np.ndarray
    """(m, d) on j."""
    point: np.ndarray
    """(m, d) of contact."""


class Moving(NamedTuple):
    """Centres before a step, velocities after it (in space, spins (n, 3) about fixed axes), all in SI units."""

    q: np.ndarray
    u: np.ndarray
    spin: np.ndarray


class Program(Protocol):
    def step(self) -> None: ...
    def q(self) -> np.ndarray: ...
    def u(self) -> np.ndarray: ...
    def look(self) -> tuple[Contacts, Moving]:
        """Makes a step, and reports its contacts."""
        ...


class Jostle:
    def __init__(self, scene: Scene, solver: jo.Solver):
        weight = scene.mass[:, None] * scene.gravity
        self.problem = jo.Motion(
            q0=scene.q0, mass=scene.mass, force=weight, within=scene.admissible(), law=jo.Coulomb(MU)
        )
        self.scheme = jo.Maury(solver=solver)
        self.state = self.scheme.start(self.problem, 0.0)
        self.radii, self.steps, self.missed, self.iterations = scene.radii, 0, 0, 0

    def step(self) -> None:
        self.state = self.scheme.advance(self.problem, self.state, H)
        assert self.state.projection is not None
        self.steps += 1
        self.iterations += self.state.projection.iterations
        self.missed += not self.state.projection.converged

    def q(self) -> np.ndarray:
        return np.array(self.state.q)

    def u(self) -> np.ndarray:
        return np.array(self.state.u)

    def look(self) -> tuple[Contacts, Moving]:
        q = self.q()
        self.step()
        contacts, tangential = self.state.contacts, self.state.impulses.tangential
        assert contacts is not None
        assert tangential is not None
        i, j = contacts.pairs.T
        normal = contacts.normals.reshape(len(i), -1)
        impulse = self.state.multipliers[:, None] * normal + tangential
        reach = self.radii[i] + np.where(j >= 0, contacts.gap / 2.0, 0.0)
        point = q[i] + reach[:, None] * normal
        found = Contacts(i, np.maximum(j, -1), normal, contacts.gap, impulse, point)
        return found, Moving(q, self.u(), np.array(self.state.spin))


class Pymunk:
    def __init__(self, scene: Scene, iterations: int):
        import pymunk

        self.space, self.module = pymunk.Space(), pymunk
        self.space.iterations = iterations
        self.space.gravity = tuple(CENTIMETRES * scene.gravity)
        self.bodies, self.number, self.found = [], {}, []
        parts = (CENTIMETRES * scene.q0, scene.mass, CENTIMETRES**2 * scene.inertia, CENTIMETRES * scene.radii)
        for place, m, inertia, radius in zip(*(part.tolist() for part in parts), strict=True):
            body = pymunk.Body(m, inertia)
            body.position = tuple(place)
            shape = pymunk.Circle(body, radius)
            shape.friction = np.sqrt(MU)  # pymunk multiplies those of the two shapes
            self.space.add(body, shape)
            self.number[shape] = len(self.bodies)
            self.bodies.append(body)
        for normal, offset in scene.walls:
            n, along = np.array(normal), np.array([-normal[1], normal[0]])
            ends = (CENTIMETRES * ((offset - 1.0) * n + sign * FAR * along) for sign in (-1.0, 1.0))
            wall = pymunk.Segment(self.space.static_body, *(tuple(end) for end in ends), CENTIMETRES)  # 1 m thick
            wall.friction = np.sqrt(MU)
            self.space.add(wall)

    def step(self) -> None:
        self.space.step(H)

    def q(self) -> np.ndarray:
        return np.array([tuple(body.position) for body in self.bodies]) / CENTIMETRES

    def u(self) -> np.ndarray:
        return np.array([tuple(body.velocity) for body in self.bodies]) / CENTIMETRES

    def look(self) -> tuple[Contacts, Moving]:
        """A step of pymunk moves the bodies and then finds the new velocities, so contacts are those of its end."""
        rows: list[tuple[Any, ...]] = []

        def touched(arbiter: Any, space: Any, data: Any) -> None:
            first, second = arbiter.shapes
            found, impulse = arbiter.contact_point_set, -arbiter.total_impulse  # on the second shape
            (point,) = found.points
            middle = (point.point_a + point.point_b) / 2.0
            pair = self.number.get(first, -1), self.number.get(second, -1)
            rows.append((*pair, *found.normal, point.distance, *impulse, *middle))

        self.space.on_collision(post_solve=touched)
        self.step()
        self.space.on_collision(post_solve=lambda arbiter, space, data: None)
        table = np.array(rows).reshape(-1, 9)
        i, j = table[:, :2].astype(int).T
        swap = np.where(i < 0, -1.0, 1.0)[:, None]
        normal, impulse, point = swap * table[:, 2:4], swap * table[:, 5:7], table[:, 7:9] / CENTIMETRES
        i, j = np.where(i < 0, j, i), np.where(i < 0, i, j)
        found = Contacts(i, j, normal, table[:, 4] / CENTIMETRES, impulse / CENTIMETRES, point)
        return found, Moving(self.q(), self.u(), np.array([body.angular_velocity for body in self.bodies]))


class Mujoco:
    """Spheres with free joints in space; in the plane, x and z slide and the body turns about y."""

    def __init__(self, scene: Scene, options: str = "", soft: str = ""):
        import mujoco

        self.module, self.plane, self.start = mujoco, scene.q0.shape[1] == 2, scene.q0
        self.n = len(scene.q0)

        def vector(x: Any) -> str:
            return " ".join(repr(float(one)) for one in ((x[0], 0.0, x[1]) if self.plane else x))

        joints = (
            '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint type="hinge" axis="0 1 0"/>'
            if self.plane
            else "<freejoint/>"
        )
        geometry = f'friction="{MU} 0 0" {soft}'
        bodies = "".join(
            f'<body pos="{vector(q)}">{joints}<inertial pos="0 0 0" mass="{m!r}" diaginertia="{a!r} {a!r} {a!r}"/>'
            f'<geom type="sphere" size="{r!r}" {geometry}/></body>'
            for q, m, a, r in zip(
                scene.q0, scene.mass.tolist(), scene.inertia.tolist(), scene.radii.tolist(), strict=True
            )
        )
        planes = "".join(
            f'<geom type="plane" size="0 0 1" pos="{vector(offset * np.array(normal))}" zaxis="{vector(normal)}" '
            f"{geometry}/>"
            for normal, offset in scene.walls
        )
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option timestep="{H}" gravity="{vector(scene.gravity)}" {options}/><size memory="8G"/>'
            f"<worldbody>{planes}{bodies}</worldbody></mujoco>"
        )
        self.data = mujoco.MjData(self.model)

    def step(self) -> None:
        self.module.mj_step(self.model, self.data)

    def q(self) -> np.ndarray:
        qpos = np.array(self.data.qpos)
        return self.start + qpos.reshape(self.n, 3)[:, :2] if self.plane else qpos.reshape(self.n, 7)[:, :3]

    def u(self) -> np.ndarray:
        qvel = np.array(self.data.qvel)
        return qvel.reshape(self.n, 3)[:, :2] if self.plane else qvel.reshape(self.n, 6)[:, :3]

    def look(self) -> tuple[Contacts, Moving]:
        q = self.q()
        self.step()
        axes = [0, 2] if self.plane else [0, 1, 2]
        contact, force = self.data.contact, np.zeros((len(self.data.contact.dist), 6))
        for k in range(len(force)):
            self.module.mj_contactForce(self.model, self.data, k, force[k])
        frame = np.array(contact.frame).reshape(-1, 3, 3)
        impulse = H * np.einsum("ma,mad->md", force[:, :3], frame)[:, axes]
        owner = np.array(self.model.geom_bodyid) - 1
        i, j = owner[np.array(contact.geom1)], owner[np.array(contact.geom2)]
        swap = np.where(i < 0, -1.0, 1.0)[:, None]
        normal, point = swap * frame[:, 0][:, axes], np.array(contact.pos)[:, axes]
        i, j = np.where(i < 0, j, i), np.where(i < 0, i, j)
        found = Contacts(i, j, normal, np.array(contact.dist), swap * impulse, point)
        qvel = np.array(self.data.qvel)
        if self.plane:
            spin = -qvel.reshape(self.n, 3)[:, 2]  # about y, from z to x
        else:
            own_axes = np.array(self.data.xmat).reshape(-1, 3, 3)[1:]
            spin = np.einsum("nab,nb->na", own_axes, qvel.reshape(self.n, 6)[:, 3:])
        return found, Moving(q, self.u(), spin)


def at_point(body: np.ndarray, moving: Moving, point: np.ndarray) -> np.ndarray:
    """(m, d) velocities of the surfaces of bodies at points; 0 for a wall."""
    lever, spin = point - moving.q[body], moving.spin[body]
    if point.shape[1] == 2:
        turning = spin[:, None] * np.stack([-lever[:, 1], lever[:, 0]], axis=1)
    else:
        turning = np.cross(spin, lever)
    return np.where((body >= 0)[:, None], moving.u[body] + turning, 0.0)


def on_cone(p: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """The nearest points of the friction cones."""
    along = (p * normal).sum(axis=1)
    tangent = p - along[:, None] * normal
    size = np.linalg.norm(tangent, axis=1)
    height = np.maximum((along + MU * size) / (1.0 + MU**2), 0.0)
    edge = height[:, None] * (normal + MU * tangent / np.maximum(size, 1e-300)[:, None])
    inside, opposite = size <= MU * along, MU * size <= -along
    return np.where(inside[:, None], p, np.where(opposite[:, None], 0.0, edge))


def residuals(scene: Scene, contacts: Contacts, moving: Moving, before: np.ndarray) -> dict[str, float]:
    """How far a step is from Coulomb's law; `before` are the velocities before it."""
    i, j, normal, gap, p, point = contacts
    s = at_point(j, moving, point) - at_point(i, moving, point)
    s += (np.maximum(gap, 0.0) / H)[:, None] * normal
    along, p_n = (s * normal).sum(axis=1), (p * normal).sum(axis=1)
    s_T, p_T = s - along[:, None] * normal, p - p_n[:, None] * normal
    slip, rub = np.linalg.norm(s_T, axis=1), np.linalg.norm(p_T, axis=1)
    inverse = 1.0 / scene.mass
    reduced = 1.0 / (inverse[i] + np.where(j >= 0, inverse[j], 0.0))
    natural = p - on_cone(p - reduced[:, None] * (s + (MU * slip)[:, None] * normal), normal)
    unit = GRAVITY * H
    got = moving.u - before - H * scene.gravity
    for body, sign in ((i, -1.0), (j, 1.0)):
        moved = body >= 0
        np.add.at(got, body[moved], -sign * p[moved] * inverse[body[moved], None])
    return {
        "cone": float(np.maximum(rub - MU * p_n, 0.0).max() / p_n.max()),
        "normal": float((p_n * np.abs(along)).sum() / (unit * p_n.sum())),
        "friction": float((MU * p_n * slip + (p_T * s_T).sum(axis=1)).sum() / (unit * MU * p_n.sum())),
        "natural": float(np.linalg.norm(natural) / np.linalg.norm(p)),
        "balance": float(np.abs(got).max() / unit),
    }


def measured(scene: Scene, program: Program) -> dict[str, float]:
    """All figures of one program on one scene."""
    found: dict[str, float] = {}
    looks: list[dict[str, float]] = []
    speeds: list[float] = []
    within = scene.admissible()

    def overlap() -> float:
        return max(0.0, -float(within.gap(0.0, program.q()))) / RADIUS

    for phase, seconds in (("settling", scene.settling), ("resting", scene.resting)):
        start, used, timed, number, worst = program.q(), 0.0, 0, 0, 0.0
        while number < round(seconds / H) and (phase == "settling" or used < MOST_CPU):
            if phase == "resting" and number % LOOKS == 0:
                before = program.u()
                speeds.append(float(np.sqrt((before**2).sum(axis=1).mean())))
                looks.append(residuals(scene, *program.look(), before))
            else:
                begin = time.process_time()
                program.step()
                used, timed = used + time.process_time() - begin, timed + 1
            number += 1
            if number % 20 == 0:
                worst = max(worst, overlap())
        found |= {f"{phase}_cpu": used / (timed * H), f"{phase}_overlap": worst}
    moved = np.linalg.norm(program.q() - start, axis=1) / RADIUS
    found |= {
        "rested": number * H,
        "rms": float(np.mean(speeds)),
        "creep": float(np.median(moved)),
        "worst_creep": float(moved.max()),
    }
    found |= {name: float(np.mean([look[name] for look in looks])) for name in ("normal", "friction", "natural")}
    found |= {name: max(look[name] for look in looks) for name in ("cone", "balance")}
    if isinstance(program, Jostle):
        found |= {"iterations": program.iterations / program.steps, "missed": program.missed}
    return found


def measured_box2d(scene: Scene) -> dict[str, float]:
    """The figures of Box2D on a box of discs; it runs in a process of its own."""
    problem, within = Jostle(scene, jo.Automatic()).problem, scene.admissible()
    steps, looks = round((scene.settling + scene.resting) / H), 20
    run = {"h": H, "steps": steps, "looks": looks, "workers": 1, "friction": MU, "gravity": GRAVITY}
    looked = box2d(problem, scene.radii, -scene.walls[-1][1], run)
    first, found = round(scene.settling / H) // looks, {}
    for phase, part in (("settling", looked[:first]), ("resting", looked[first:])):
        found[f"{phase}_cpu"] = float(np.mean([used for look in part for _, used in look["times"]])) / 1e3 / H
        found[f"{phase}_overlap"] = max(0.0, -min(within.gap(0.0, np.array(look["q"])) for look in part)) / RADIUS
    moved = np.linalg.norm(np.array(looked[-1]["q"]) - looked[first - 1]["q"], axis=1) / RADIUS
    speeds = [np.sqrt((np.array(look["u"]) ** 2).sum(axis=1).mean()) for look in looked[first:]]
    found |= {"rested": (len(looked) - first) * looks * H, "rms": float(np.mean(speeds))}
    return found | {"creep": float(np.median(moved)), "worst_creep": float(moved.max())}


def programs(scene: str) -> dict[str, Callable[[Scene], Program]]:
    """The programs of a scene, with their settings, by name."""
    tight, loose = (1e-4, 1e-3) if scene == "wall" else (1e-3, 1e-2)
    found: dict[str, Callable[[Scene], Program]] = {
        f"jostle, {tight:.0e}": lambda it: Jostle(it, jo.Automatic(tol=tight)),
        f"jostle, {loose:.0e}": lambda it: Jostle(it, jo.Automatic(tol=loose)),
        f"jostle, {tight / 10:.0e} or 300 sweeps": lambda it: Jostle(
            it, jo.GaussSeidel(tol=tight / 10, max_iterations=300, budget=True)
        ),
    }
    if scene == "box":
        tolerances = (1e-3, 1e-4)
        found = {f"jostle, {tol:.0e}": lambda it, tol=tol: Jostle(it, jo.Automatic(tol=tol)) for tol in tolerances}
    if scene != "spheres":
        found |= {f"pymunk, {most} iterations": lambda it, most=most: Pymunk(it, most) for most in (10, 100)}
    if scene == "box":
        return found
    solver = 'solver="CG"' if scene == "spheres" else ""
    found["MuJoCo"] = lambda it: Mujoco(it, solver)
    if scene != "discs":
        elliptic = f'{solver} cone="elliptic"'
        against_slip = f'{elliptic} impratio="10" noslip_iterations="10"'
        found["MuJoCo, elliptic"] = lambda it: Mujoco(it, elliptic)
        found["MuJoCo, against slip"] = lambda it: Mujoco(it, against_slip, f'solref="{2.0 * H} 1"')
    return found


SCENES = ["box", "discs", "spheres", "wall"]
COLUMNS = {
    "settling_cpu": "CPU", "resting_cpu": "CPU rest", "ratio": "ratio", "settling_overlap": "overlap",
    "resting_overlap": "at rest", "rested": "rest", "rms": "rms", "creep": "creep", "worst_creep": "worst",
    "cone": "cone", "normal": "normal", "friction": "friction", "natural": "natural", "balance": "balance",
}  # fmt: skip


def report(figures: dict[str, dict[str, float]], program: str, row: dict[str, float]) -> None:
    """Add the figures of a program to those of the scene, and print them."""
    figures[program] = row
    row["ratio"] = row["resting_cpu"] / next(iter(figures.values()))["resting_cpu"]
    print(f"{program:32s}" + "".join(f"{row.get(key, np.nan):10.2g}" for key in COLUMNS), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="200 bodies, 5 rows of 5, 0.5 s of rest: less than 50 s")
    parser.add_argument("--only", nargs="*", choices=SCENES, default=SCENES)
    parser.add_argument("--seed", type=int, default=0, help="of the radii and of the start of the discs in the box")
    arguments = parser.parse_args()
    quick, seed = arguments.quick, arguments.seed
    scenes = {
        "box": box((20, 10), 2.0, 1.0, seed) if quick else box((25, 40), 5.0, 2.0, seed),
        "discs": heap((20, 10), 1.0, 0.5) if quick else heap((100, 20), 3.0, 10.0),
        "spheres": heap((10, 5, 4), 1.0, 0.5) if quick else heap((20, 10, 10), 2.0, 2.0),
        "wall": wall_of_discs(5, 1.0, 0.5) if quick else wall_of_discs(10, 3.0, 10.0),
    }
    names = ["jostle", "pymunk"] + ["mujoco"] * (arguments.only != ["box"])
    versions = {name: version(name) for name in names}
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for name in arguments.only:
        scene = scenes[name]
        warm = Jostle(scene, jo.Automatic(tol=1e-3))
        for _ in range(20 if quick else 60):
            warm.step()  # compiles
        figures[name] = {}
        print(f"\n{f'{name}, {len(scene.q0)} bodies':32s}" + "".join(f"{head:>10s}" for head in COLUMNS.values()))
        for program, make in programs(name).items():
            report(figures[name], program, measured(scene, make(scene)))
        if name == "box":
            try:
                report(figures[name], "Box2D v3, 4 sub-steps", measured_box2d(scene))
            except LookupError as missing:
                print(f"Box2D left out: {missing}; `make bench` installs node and box2d3-wasm in its environment")
    print(json.dumps({"benchmark": "friction_peers", "h": H, "versions": versions, "figures": figures}))


if __name__ == "__main__":
    with threadpool_limits(1):  # jostle's own threads begin at 20 000 contacts
        main()
