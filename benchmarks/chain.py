"""A chain of 1000 links beside MuJoCo's equality constraints: ``python benchmarks/chain.py [--quick]``.

Point masses in a plane, joined by rods, hang from a point: the chain starts stretched out, falls and swings, or hits a
floor. In jostle the rods are `Rods`, and the floor is a `HalfSpace`. In MuJoCo each rod is a spatial tendon between two
sites whose length is an equality constraint, and each mass has two slide joints; the solver is Newton's, the Jacobian
sparse and the contacts frictionless. MuJoCo's constraints are soft: it is measured with its default time constant of
20 ms, and with the shortest that its manual allows, two time steps. Both have the same time step.

Printed are the time of a step, by the clock and of all processors together (other programs disturb the latter less),
the drift (the largest error of a length in any step, over the length of a link) and the depth below the floor, over the
same length. Then jostle alone with more and fewer links, half of them lying on the floor at the end: the time of a step
grows like the number of links. The last line is one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np

import jostle as jo

LINK = 0.1
"""Length of a link, in m."""
GRAVITY = 9.81
FLOOR = -0.25
"""Height of the floor, in m."""
H = 4e-3
"""Time step, in s."""
WARM_UP = 3
"""Steps before the measurement, which compile and fill caches."""
Step = Callable[[], np.ndarray]
"""Makes a step and returns the places (n, 2) of the masses."""


def stretched(links: int) -> np.ndarray:
    """The places of the masses at the start."""
    return np.stack([LINK * np.arange(1, links + 1), np.zeros(links)], axis=1)


def in_jostle(links: int, floor: bool) -> Step:
    pairs = [(0, -1), *((i, i + 1) for i in range(links - 1))]
    within: jo.ConstraintSet = jo.Rods(pairs, LINK, points=[[0.0, 0.0]])
    within = within & jo.HalfSpace([0.0, 1.0], FLOOR) if floor else within
    problem = jo.Motion(q0=stretched(links), force=[0.0, -GRAVITY], within=within)
    scheme = jo.Maury()
    state = scheme.start(problem, 0.0)

    def step() -> np.ndarray:
        nonlocal state
        state = scheme.advance(problem, state, H)
        assert state.projection is not None
        assert state.projection.converged
        return state.q

    return step


def in_mujoco(links: int, floor: bool, time_constant: float | None) -> Step:
    import mujoco

    touch = '<geom type="sphere" size="0.001" condim="1" contype="1" conaffinity="2"/>' if floor else ""
    ground = f'<geom type="plane" size="0 0 1" pos="0 0 {FLOOR - 0.001}" condim="1" contype="2" conaffinity="1"/>'
    soft = "" if time_constant is None else f' solref="{time_constant} 1"'
    bodies = "".join(
        f'<body pos="{x!r} 0 0"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>'
        f'<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{touch}<site name="s{k + 1}"/></body>'
        for k, x in enumerate(stretched(links)[:, 0].tolist())
    )
    tendons = "".join(
        f'<spatial name="t{k}"><site site="s{k}"/><site site="s{k + 1}"/></spatial>' for k in range(links)
    )
    equalities = "".join(f'<tendon tendon1="t{k}"{soft}/>' for k in range(links))
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{H}" gravity="0 0 {-GRAVITY}" jacobian="sparse" integrator="implicitfast"/>'
        f'<size memory="4G"/><worldbody><site name="s0"/>{ground if floor else ""}{bodies}</worldbody>'
        f"<tendon>{tendons}</tendon><equality>{equalities}</equality></mujoco>"
    )
    data = mujoco.MjData(model)
    start = stretched(links)

    def step() -> np.ndarray:
        mujoco.mj_step(model, data)
        return start + np.array(data.qpos).reshape(-1, 2)

    return step


def measured(step: Step, steps: int, floor: bool) -> dict[str, float]:
    """Milliseconds a step, by the clock and of all processors; drift and depth over the length of a link."""
    clock = processor = drift = depth = 0.0
    for _ in range(steps):
        begin, busy = time.perf_counter(), time.process_time()
        q = step()
        clock, processor = clock + time.perf_counter() - begin, processor + time.process_time() - busy
        apart = np.diff(q, axis=0, prepend=0.0)
        drift = max(drift, float(np.abs(np.sqrt((apart**2).sum(axis=1)) / LINK - 1.0).max()))
        depth = max(depth, (FLOOR - float(q[:, 1].min())) / LINK if floor else 0.0)
    return {"ms": 1e3 * clock / steps, "cpu_ms": 1e3 * processor / steps, "drift": drift, "depth": depth}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer steps and sizes: less than 50 s")
    quick = parser.parse_args().quick
    steps = 100 if quick else 250
    figures: dict[str, dict[str, float]] = {}
    print(f"{'':36s}{'ms a step':>10s}{'of cpu':>8s}{'drift':>10s}{'depth':>10s}")
    for floor in (False, True):
        makers = {
            "jostle": lambda floor=floor: in_jostle(1000, floor),
            "MuJoCo, time constant 20 ms": lambda floor=floor: in_mujoco(1000, floor, None),
            "MuJoCo, time constant 2 h": lambda floor=floor: in_mujoco(1000, floor, 2.0 * H),
        }
        for name, make in makers.items():
            step = make()
            for _ in range(WARM_UP):
                step()
            found = measured(step, steps, floor)
            scene = f"{name}, {'floor' if floor else 'free'}"
            figures[scene] = found
            print(f"{scene:36s}{found['ms']:10.2f}{found['cpu_ms']:8.2f}{found['drift']:10.1e}{found['depth']:10.1e}")
    for links in (250, 1000, 2000) if quick else (250, 500, 1000, 2000, 4000, 8000):
        step = in_jostle(links, True)
        for _ in range(WARM_UP):
            step()
        found = measured(step, 90, True)
        figures[f"jostle, {links} links"] = found
        print(f"{f'jostle, {links} links, floor':36s}{found['ms']:10.2f}{found['cpu_ms']:8.2f}{found['drift']:10.1e}")
    print(json.dumps({"benchmark": "chain", "links": 1000, "h": H, "steps": steps, "figures": figures}))


if __name__ == "__main__":
    main()
