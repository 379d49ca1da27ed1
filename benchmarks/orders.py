"""The order of convergence of every scheme against exact solutions: ``python benchmarks/orders.py [--quick]``.

Each case is a function h -> error; the order is fitted over several halvings (one halving is noisy where impacts are).
The numbers P.. are those of the reference cases in the documentation.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import jostle as jo


@dataclass(frozen=True)
class Case:
    """A situation with a known solution, and the order that is expected of a scheme."""

    name: str
    scheme: str
    expected: float
    coarsest: float
    error: Callable[[float], float]
    halvings: int = 6


def spring(scheme: jo.Scheme, h: float, kick: float = 0.0) -> float:
    """q'' = -q from (1, 0.5), without contact, at t = 2."""
    motion = jo.Motion(q0=[1.0], v0=[0.5 + kick * h], force=lambda t, q: -q)
    return abs(jo.solve(motion, scheme, t=2.0, h=h).q[-1, 0] - (np.cos(2.0) + 0.5 * np.sin(2.0)))


def fall(scheme: jo.Scheme, h: float) -> float:
    """P02: a ball falls from 1 and stays; largest error up to t = 1."""
    ball = jo.Motion(q0=[1.0], force=[-9.81], within=jo.HalfSpace([1.0]))
    sol = jo.solve(ball, scheme, t=1.0, h=h)
    return float(np.abs(sol.q[:, 0] - np.maximum(0.0, 1.0 - 9.81 / 2.0 * sol.t**2)).max())


def drag(h: float) -> float:
    """P06: fall with linear drag, the force implicit, at t = 0.4 before the impact."""
    g, c = 9.81, 0.5
    ball = jo.Motion(q0=[1.0], force=lambda t, q, u: -g - c * u, within=jo.HalfSpace([1.0]))
    y = 1.0 - g / c * 0.4 + g / c**2 * (1.0 - np.exp(-c * 0.4))
    return abs(jo.solve(ball, jo.Paoli(implicit=True), t=0.4, h=h).q[-1, 0] - y)


def bounces(t: np.ndarray, e: float, g: float = 9.81) -> np.ndarray:
    """The exact height of a ball dropped from 1 with restitution e."""
    q, start, speed = np.where(t < np.sqrt(2.0 / g), 1.0 - g / 2.0 * t**2, 0.0), np.sqrt(2.0 / g), np.sqrt(2.0 * g)
    for _ in range(60):
        speed *= e
        s = t - start
        q = np.where((s >= 0) & (s < 2.0 * speed / g), speed * s - g / 2.0 * s**2, q)
        start += 2.0 * speed / g
    return q


def zeno(scheme: jo.Scheme, h: float) -> float:
    """P04: infinitely many bounces, e = 1/2; largest error up to t = 2."""
    ball = jo.Motion(q0=[1.0], force=[-9.81], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    sol = jo.solve(ball, scheme, t=2.0, h=h)
    return float(np.abs(sol.q[:, 0] - bounces(sol.t, 0.5)).max())


def pendulum(h: float) -> float:
    """P19: double pendulum with a stop, M(q), e = 1/2; angles at t = 1."""
    end = jo.solve(jo.models.double_pendulum(), jo.Paoli(), t=1.0, h=h).q[-1]
    return float(np.abs(end - [0.109884020636, -0.474856263845]).max())


def rotating_wall(h: float) -> float:
    """P14: a mass pushed by a rotating wall, at t = 1."""
    wall = jo.HalfSpace(normal=lambda t: [-np.sin(t), np.cos(t)])
    end = jo.solve(jo.Motion(q0=[1.0, 0.0], v0=[0.0, 1.0], within=wall), jo.Maury(), t=1.0, h=h).q[-1]
    return float(np.linalg.norm(end - np.cosh(1.0) * np.array([np.cos(1.0), np.sin(1.0)])))


def table(h: float) -> float:
    """P15: a ball that takes off from a vibrating table, Gamma = 2, at t = 0.6 in flight."""
    sol = jo.solve(jo.models.vibrating_table(2.0), jo.Maury(), t=0.6, h=h)
    A, start = 2.0 / (2.0 * np.pi) ** 2, 1.0 / 12.0
    s = 0.6 - start
    exact = A * np.sin(2.0 * np.pi * start) + A * 2.0 * np.pi * np.cos(2.0 * np.pi * start) * s - s**2 / 2.0
    return abs(sol.q[-1, 0] - exact)


def slide(h: float) -> float:
    """P24: a disc slides off a fixed disc, starting with a tangential force, at t = 0.5."""
    disc = jo.Motion(q0=[1.0, np.sqrt(3.0)], force=[0.0, -10.0], within=jo.Outside([0.0, 0.0], 1.0, radii=1.0))
    return float(np.linalg.norm(jo.solve(disc, jo.Maury(), t=0.5, h=h).q[-1] - [1.52098906708, 1.29868866855]))


def drift(scheme: jo.Scheme, h: float) -> float:
    """P44: a point drifts past a disc; at t = 1.5, on the disc."""
    point = jo.Sweeping(q0=[np.cos(np.radians(170)), np.sin(np.radians(170))], velocity=[1.0, 0.0],
                        within=jo.Outside([0.0, 0.0], 1.0))  # fmt: skip
    angle = 2.0 * np.arctan(np.tan(np.radians(85)) * np.exp(-1.5))
    return float(np.linalg.norm(jo.solve(point, scheme, t=1.5, h=h).q[-1] - [np.cos(angle), np.sin(angle)]))


def tractrix(h: float) -> float:
    """P46: a point pulled along inside a moving disc, at t = 2."""
    angle = np.radians(95)
    point = jo.Sweeping(q0=[np.cos(angle), np.sin(angle)], within=jo.Inside(lambda t: [t, 0.0], 1.0))
    return float(np.linalg.norm(jo.solve(point, jo.CatchingUp(), t=2.0, h=h).q[-1] - [1.03029206158, 0.244267300656]))


CASES = (
    Case("free flight (spring)", "Maury", 1, 0.1, lambda h: spring(jo.Maury(), h)),
    Case("free flight, half kick", "Maury", 2, 0.1, lambda h: spring(jo.Maury(), h, kick=0.5)),
    Case("P02 inelastic impact, sup", "Maury", 1, 0.02, lambda h: fall(jo.Maury(), h)),
    Case("P14 rotating wall", "Maury", 1, 0.05, rotating_wall),
    Case("P15 vibrating table", "Maury", 2, 0.02, table),
    Case("P24 sliding on a disc", "Maury", 1, 0.02, slide),
    Case("free flight (spring)", "Paoli", 2, 0.1, lambda h: spring(jo.Paoli(), h)),
    Case("free flight (spring), z = 0", "Paoli", 1, 0.1, lambda h: spring(jo.Paoli(z=0.0), h)),
    Case("P02 inelastic impact, z = 0, sup", "Paoli", 1, 0.02, lambda h: fall(jo.Paoli(z=0.0), h)),
    Case("P04 Zeno, e = 1/2, sup", "Paoli", 1, 0.01, lambda h: zeno(jo.Paoli(), h)),
    Case("P06 implicit drag", "Paoli (implicit)", 2, 0.04, drag),
    Case("P19 double pendulum, M(q)", "Paoli", 1, 0.01, pendulum),
    Case("P04 Zeno, e = 1/2, sup", "MoreauJean", 1, 0.01, lambda h: zeno(jo.MoreauJean(), h)),
    Case("P44 drift past a disc", "Venel", 1, 0.1, lambda h: drift(jo.Venel(), h)),
    Case("P44 drift past a disc", "CatchingUp", 1, 0.1, lambda h: drift(jo.CatchingUp(), h)),
    Case("P46 tractrix (inside a disc)", "CatchingUp", 1, 0.1, tractrix),
)


def measure(quick: bool = False) -> list[dict[str, float | str]]:
    """One row a case: expected and fitted order, fitted constant, finest step and its error."""
    rows: list[dict[str, float | str]] = []
    for case in CASES:
        steps = case.coarsest / 2.0 ** np.arange(case.halvings - (2 if quick else 0))
        fit = jo.analysis.order(steps, [case.error(h) for h in steps])
        rows.append(
            {
                "case": case.name, "scheme": case.scheme, "expected": case.expected, "order": round(fit.order, 3),
                "constant": float(f"{fit.constant:.3g}"), "h": steps[-1], "error": float(f"{fit.error[-1]:.3g}"),
            }
        )  # fmt: skip
    return rows


def text(rows: list[dict[str, float | str]]) -> str:
    """The rows as a table."""
    lines = [f"{'case':33s}{'scheme':16s}{'expected':>9s}{'order':>6s}{'constant':>9s}{'finest h':>9s}{'error':>8s}"]
    for row in rows:
        lines.append(
            f"{row['case']:33s}{row['scheme']:16s}{row['expected']:9}{row['order']:6.2f}{row['constant']:9.3g}"
            f"{row['h']:9.2e}{row['error']:8.1e}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two halvings less")
    found = measure(parser.parse_args().quick)
    print(text(found))
    print(json.dumps({"orders": found}))
