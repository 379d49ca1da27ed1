"""A tool: the bits of many runs, files and tables, which a change that only moves code does not change.

``python tests/golden.py keep`` computes them at one commit, and ``python tests/golden.py compare`` at another names the
cases whose bits differ and exits with 1. Bits depend on the processor, so they are not part of the repository. Where a
change of bits is meant, the message of its commit says why.
"""

import hashlib
import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import jostle as jo
from device_scenes import SCENES, scheme_of

KEPT = Path(__file__).parent / "data" / "golden.json"


def digest(*parts):
    """Sixteen hexadecimal digits of arrays, texts and numbers."""
    total = hashlib.sha256()
    for part in parts:
        bits = np.frombuffer(part.encode(), np.uint8) if isinstance(part, str) else np.ascontiguousarray(part)
        assert not bits.dtype.hasobject, f"{type(part).__name__} has no bits of its own"
        total.update(bits.tobytes())
    return total.hexdigest()[:16]


def of_run(problem, scheme=None, t=0.4, h=1e-2, **more):
    sol = jo.solve(problem, scheme or scheme_of(problem, jo.Automatic()), t=t, h=h, **more)
    parts = [sol.t, sol.q, sol.status]
    if sol.u is not None:
        parts.append(sol.u)
    for p in sol.multipliers:
        parts.append(p)
    if isinstance(problem, jo.Motion):
        energy = sol.energy()
        parts += [str(sol.impacts()), energy.kinetic] + ([] if energy.potential is None else [energy.potential])
    return digest(*parts)


def of_file(problem, scheme):
    import h5py

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.vtkhdf"
        sol = jo.solve(problem, scheme, t=0.2, h=1e-2)
        jo.io.write(sol, path)
        parts = []

        def visit(name, item):
            if isinstance(item, h5py.Dataset):
                parts.append(name)
                parts.append(item[()] if item.dtype.kind in "fiub" else "")

        with h5py.File(path) as file:
            file.visititems(visit)
        read = jo.io.read(path)
        parts += [read.q, read.t, read.u]
        for export in ("csv", "vtp"):
            target = Path(folder) / f"as_{export}"
            try:
                jo.io.export(path, target.with_suffix(f".{export}"))
            except jo.JostleError as refused:
                parts.append(type(refused).__name__)
            for made in sorted(Path(folder).rglob(f"*.{export}")):
                parts.append(made.read_bytes().hex())
        return digest(*parts)


def discs(law=None, n=12, **more):
    q0 = np.array([[x, y] for x in range(4) for y in range(3)], dtype=float)[:n] * 1.1
    v0 = np.random.default_rng(3).normal(size=q0.shape)
    within = jo.Balls(np.full(n, 0.5)) & jo.Box([-0.6, -0.6], [4.0, 3.0])
    return jo.Motion(q0=q0, v0=v0, force=[0.0, -9.81], within=within, **({"law": law} if law else {}), **more)


def marble():
    @jo.constraints
    def board(t, q):
        return np.concatenate([np.linalg.norm(q - [[2.0, 1.5], [3.0, 3.0]], axis=1) - 0.5, q, [6, 4] - q])

    return jo.Sweeping(q0=[0.5, 0.6], velocity=lambda t, q: [1.0, 0.6], within=board)


def pendulums():
    rods = jo.Rods([(0, -1), (1, 0), (2, 1)], 1.0, points=[[0.0, 0.0]])
    q0 = [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]
    return jo.Motion(q0=q0, force=[0.0, -9.81], within=rods & jo.Balls(np.full(3, 0.2)))


def lumps(**more):
    return jo.Motion(q0=[0.0, 1.0], v0=[1.0, 0.0], force=[0.0, -9.81], within=jo.HalfSpace([0, 1]), **more)


def behaviour(make):
    plan = jo.crowds.Plan(
        [(0, 0), (9, 0), (9, 4), (0, 4)], exits={"west": ((0, 1.4), (0, 2.6)), "east": ((9, 1.4), (9, 2.6))}
    )
    q0 = np.array([[x, y] for x in (1.0, 3.0, 5.5, 7.5) for y in (0.6, 2.0, 3.4)])
    wish = make(jo.crowds.walk(plan, radius=0.25, speed=1.3), plan)
    within = jo.Balls(np.full(12, 0.25)) & jo.Segments(plan.walls)
    return of_run(jo.Sweeping(q0=q0, velocity=wish, within=within), jo.Venel(), t=2.0, h=0.05)


def of_scenario(name, t):
    from jostle.cli import main

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.vtkhdf"
        with pytest.raises(SystemExit) as ended:
            main(["run", name, "--output", str(path), "--set", f"run.t={t}"])
        assert not ended.value.code
        if jo.io.are_images(path):
            read = jo.io.read_images(path)
            return digest(read.t, *(np.asarray(field[:]) for field in read.fields.values()))
        read = jo.io.read(path)
        return digest(read.t, *read.q)


def of_law(law, grid, left, right):
    after = law.impact(grid.velocity(left - right, 0), restitution=0.0)
    return digest(*(np.asarray(part) for part in (after.u.cells, after.lost)))


def blocks():
    grid = jo.macro.Grid([0, 0], [2, 1], h=1 / 20)
    return grid, grid.block([0.2, 0.2], [1.0, 0.8]), grid.block([1.0, 0.3], [1.8, 0.7])


def events(problem):
    sol = jo.solve_by_events(problem, t=2.0)
    return digest(sol.q([0.3, 1.0, 2.0]), str([event.t for event in sol.events]))


def drive(t, q, u, parameters):
    return np.array([np.cos(2.7 * t) - q[0] - 0.1 * u[0]])


def copies():
    starts = np.linspace(0.1, 1.0, 9)[:, None]
    made = jo.vibro.Copies(q0=starts, force=drive, within=jo.HalfSpace([1.0]), restitution=0.7)
    found = jo.vibro.sections(made, period=2.0, steps=40, periods=6)
    return digest(found.q, found.u)


def densities(make, scheme):
    grid = jo.macro.Grid([0, 0], [3, 2], h=1 / 10, closed=True)
    block = grid.block([0.3, 0.3], [1.8, 1.6])
    problem = make(grid=grid, density=0.8 * block, velocity=grid.velocity(block, 0.1 * block))
    sol = jo.macro.solve(problem, scheme, t=0.5, h=0.05)
    return digest(sol.t, np.asarray(sol.density))


def sticky():
    made = jo.macro.StickyBlocks([1, 3, 5, 7], 1, [4, 3, 0, -2], acceleration=[1, -1, 0, 1], walls=(0, 9))
    return digest(made.at([1.0, 3.0, 8.0]))


def lattice():
    v = jo.macro.phi(lambda x, y: (-x, 0.1), jo.macro.square_lattice(0.25, box=([-1, -1], [1, 1])))
    return digest(v.velocity)


C = jo.crowds
CASES = {
    **{f"scene {name}": (lambda make=make: of_run(make())) for name, make in SCENES.items()},
    **{
        f"discs {type(scheme).__name__} {type(scheme.solver).__name__} e={e}": (
            lambda scheme=scheme, e=e: of_run(discs(jo.Restitution(e)), scheme)
        )
        for e, schemes in (
            (0.0, [jo.Maury, jo.Paoli, jo.MoreauJean]),
            (0.5, [jo.Paoli, jo.MoreauJean]),
        )
        for make in schemes
        for solver in (jo.ActiveSet(), jo.InteriorPoint(), jo.GaussSeidel(tol=1e-6), jo.Automatic())
        for scheme in (make(solver=solver),)
    },
    "gluey": lambda: of_run(lumps(), jo.Gluey(), h=1e-3, t=1.0),
    "gluey discs": lambda: of_run(discs(), jo.Gluey()),
    "catching up": lambda: of_run(marble(), jo.CatchingUp(), t=3.0, h=0.02),
    "venel on a board": lambda: of_run(marble(), jo.Venel(), t=3.0, h=0.02),
    "rods": lambda: of_run(pendulums(), jo.MoreauJean(), t=1.0, h=1e-2),
    "rods, Maury": lambda: of_run(pendulums(), jo.Maury(), t=1.0, h=1e-2),
    "cradle": lambda: of_run(jo.models.cradle(10), jo.Paoli(), t=1.0, h=1e-2),
    "cradle apart": lambda: of_run(jo.models.cradle(10, gap=0.1), jo.Paoli(), t=1.0, h=1e-2),
    "ball by its law": lambda: of_run(lumps(law=jo.Restitution(0.8)), jo.Paoli(), t=2.0, h=1e-3),
    "file of discs": lambda: of_file(discs(), jo.Maury()),
    "file of a ball": lambda: of_file(lumps(law=jo.Restitution(0.8)), jo.Paoli()),
    "refined": lambda: of_run(discs(), jo.Maury(), accuracy=1e-2),
    "inhibition": lambda: behaviour(lambda wish, plan: C.Inhibition(wish, np.full(12, 0.25), T=0.8)),
    "following": lambda: behaviour(lambda wish, plan: C.Following(wish, np.full(12, 0.25), sight=1.5)),
    "repulsion": lambda: behaviour(lambda wish, plan: C.Repulsion(wish, np.full(12, 0.25))),
    "time gap": lambda: behaviour(lambda wish, plan: C.TimeGap(wish, np.full(12, 0.25))),
    "jams": lambda: behaviour(lambda wish, plan: C.AvoidJams(wish)),
    "quickest": lambda: behaviour(lambda wish, plan: C.Quickest(wish, plan, 0.25)),
    "reaction": lambda: behaviour(lambda wish, plan: C.Reaction(wish, 0.5)),
    **{
        name: (lambda name=name, t=t: of_scenario(name, t))
        for name, t in {
            "blocks": 0.2, "bottleneck": 4.0, "classroom": 4.0, "counterflow": 3.0, "cradle_apart": 1.0,
            "cradle_touching": 1.0, "evacuation": 4.0, "hourglass": 0.1, "jamming": 0.2, "labyrinth": 2.0, "silo": 0.2,
            "spheres": 0.2, "stand": 3.0, "venel_2009": 4.0, "vibrated_layer": 0.05,
        }.items()
    },
    "events": lambda: events(lumps(law=jo.Restitution(0.5))),
    "events of a pendulum": lambda: events(jo.models.double_pendulum()),
    "impacts compared": lambda: digest(str(jo.impacts.compare(jo.models.rack(rows=3, e=1.0)))),
    "hypotheses": lambda: digest(str(jo.theory.hypotheses(discs()))),
    "copies": copies,
    "sticky blocks": sticky,
    "lattice": lattice,
    "splitting": lambda: densities(jo.macro.Crowd, jo.macro.Splitting()),
    "barrier": lambda: densities(jo.macro.Flow, jo.macro.Barrier(eps=1e-2)),
    "impacts of densities": lambda: densities(jo.macro.Flow, jo.macro.Impacts()),
    "isotropic": lambda: of_law(jo.macro.Isotropic(blocks()[0], saturated=blocks()[1] | blocks()[2]), *blocks()),
    "square": lambda: of_law(jo.macro.Square(blocks()[0], saturated=blocks()[1] | blocks()[2]), *blocks()),
    "triangular": lambda: of_law(jo.macro.Triangular(blocks()[0], saturated=blocks()[1] | blocks()[2]), *blocks()),
}  # fmt: skip


def value(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CASES[name]()


def main(task):
    if task == "keep":
        KEPT.write_text(json.dumps({name: value(name) for name in CASES}, indent=1) + "\n")
        return 0
    if task != "compare" or not KEPT.exists():
        print(f"{__doc__}\nKept bits: {KEPT if KEPT.exists() else 'none; keep comes first'}")
        return 2
    kept = json.loads(KEPT.read_text())
    other = [name for name in CASES if kept.get(name) != value(name)]
    print("\n".join([*other, f"{len(other)} of {len(CASES)} cases have other bits"]))
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
