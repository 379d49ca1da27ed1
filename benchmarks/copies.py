"""Speed of many copies of a small system: ``python benchmarks/copies.py [--quick] [--picture FILE]``.

Steps per second of the compiled loop beside the same scheme by `solve`, one step after the other; whole periods of the
impact oscillator (x'' + x = cos(omega t), x <= 0, e = 0.8) per second beside SciPy's `solve_ivp` with events, at errors
that are measured in the same run; CPU time beside a loop that is written by hand for this oscillator alone, also at
frequencies at which it comes to rest; the bifurcation diagram with 1000 parameters and 500 periods; and one ball by
`solve` beside the same scheme by hand. All in one run. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numba
import numpy as np
from scipy.integrate import solve_ivp
from small import best_of, by_hand

import jostle as jo
from jostle.kernels.parallel import threads

OMEGA, E = 2.6, 0.8
"""Frequency with a stable orbit of one impact a period, and restitution."""
PERIOD = 2.0 * np.pi / OMEGA


def drive(t, q, u, parameters):  # type: ignore[no-untyped-def] - compiled by numba
    return np.cos(parameters[0] * t) - q[0]


def oscillators(omega: np.ndarray) -> jo.vibro.Copies:
    return jo.vibro.Copies(
        q0=[-0.65], v0=[0.02], force=drive, within=jo.HalfSpace([-1.0]), parameters=omega, restitution=E
    )


def timed(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def exact_speed() -> float:
    """The speed of the impacts on the orbit with one impact a period."""
    gain = 1.0 / (1.0 - OMEGA**2)
    return abs(gain) / float(np.hypot((1.0 - E) / (2.0 * OMEGA), (1.0 + E) / np.tan(PERIOD / 2.0) / 2.0))


def steps_per_second(quick: bool) -> dict[str, float]:
    """The compiled loop with many copies beside `solve` with one, for the same scheme and step."""
    n, steps, found = 2000, 200, {}
    periods = 5 if quick else 25
    copies = oscillators(np.full(n, OMEGA))
    one = jo.models.impact_oscillator(omega=OMEGA, e=E)
    plain_steps = 1000 if quick else 4000
    run = {"period": PERIOD, "steps": steps}
    for scheme in (jo.Paoli(), jo.MoreauJean(), jo.vibro.ByEvents()):
        jo.vibro.sections(copies, scheme, periods=1, **run)
        name = type(scheme).__name__
        took = timed(lambda s=scheme: jo.vibro.sections(copies, s, periods=periods, **run))  # type: ignore[misc]
        found[f"{name} compiled"] = n * steps * periods / took
        if not isinstance(scheme, jo.vibro.ByEvents):
            h = PERIOD / steps
            took = timed(lambda s=scheme, h=h: jo.solve(one, s, t=plain_steps * h, h=h))  # type: ignore[misc]
            found[f"{name} by solve"] = plain_steps / took
    return found


@numba.njit(error_model="numpy")
def flight(t, s, q, u, w):  # type: ignore[no-untyped-def] - compiled by numba
    """The classical Runge-Kutta step of q'' + q = cos w t."""
    a = np.cos(w * t) - q
    q2, u2 = q + 0.5 * s * u, u + 0.5 * s * a
    a2 = np.cos(w * (t + 0.5 * s)) - q2
    q3, u3 = q + 0.5 * s * u2, u + 0.5 * s * a2
    a3 = np.cos(w * (t + 0.5 * s)) - q3
    q4, u4 = q + s * u3, u + s * a3
    a4 = np.cos(w * (t + s)) - q4
    return q + s / 6.0 * (u + 2.0 * u2 + 2.0 * u3 + u4), u + s / 6.0 * (a + 2.0 * a2 + 2.0 * a3 + a4)


@numba.njit(error_model="numpy")
def loop_by_hand(omega, q, u, e, steps, out):  # type: ignore[no-untyped-def] - compiled by numba
    """The positions once per period: flights, impacts by Newton's method, rest where they accumulate, and release."""
    for c, w in enumerate(omega):
        h, x, v, rests = 2.0 * np.pi / w / steps, q, u, False
        for k in range(out.shape[1] * steps):
            t, end = k * h, (k + 1) * h
            while t < end:
                if rests and np.cos(w * end) > 0.0:
                    break
                if rests and np.cos(w * t) > 0.0:
                    t = (2.0 * np.ceil(0.5 * (w * t / np.pi - 0.5)) + 0.5) * np.pi / w
                rests, s = False, end - t
                x2, v2 = flight(t, s, x, v, w)
                if x2 <= 0.0:
                    x, v = x2, v2
                    break
                low, high = 0.0, s
                for _ in range(60):
                    new = s - x2 / v2 if v2 > 0.0 else 0.0
                    if not low < new < high:
                        new = 0.5 * (low + high)
                    if abs(new - s) <= 1e-15 * t:
                        break
                    s = new
                    x2, v2 = flight(t, s, x, v, w)
                    low, high = (low, s) if x2 > 0.0 else (s, high)
                t += s
                x, v = 0.0, -e * v2
                rests = -2.0 * v <= 1e-3 * h * np.cos(w * t)
                v = 0.0 if rests else v
            if (k + 1) % steps == 0:
                out[c, k // steps] = x


def beside_a_loop(quick: bool) -> dict[str, float]:
    """CPU time of 1000 oscillators over 300 periods of 32 steps, in multiples of that of the loop by hand, the best of
    three turns; and the median difference of their positions after 30 periods."""
    n, periods, steps, found = 100 if quick else 1000, 300, 32, {}
    for name, ends in {"one impact a period": (2.6, 2.65), "all": (0.2, 3.2), "coming to rest": (0.2, 0.6)}.items():
        omega, out, ours, hand = np.linspace(*ends, n), np.zeros((n, periods)), [], []
        copies, run = oscillators(omega), {"period": 2.0 * np.pi / omega, "steps": steps}
        jo.vibro.sections(copies, periods=1, **run)
        loop_by_hand(omega[:1], -0.65, 0.02, E, steps, out[:1])
        for _ in range(3):
            begin = time.process_time()
            seen = jo.vibro.sections(copies, periods=periods, **run)
            between = time.process_time()
            loop_by_hand(omega, -0.65, 0.02, E, steps, out)
            ours.append(between - begin)
            hand.append(time.process_time() - between)
        found[f"{name}, seconds by hand"] = min(hand)
        found[f"{name}, times by hand"] = min(ours) / min(hand)
        found[f"{name}, difference"] = float(np.median(np.abs(out - seen.q[:, :, 0])[:, 29]))
    return found


def by_scipy(periods: int, rtol: float) -> list[float]:
    """The speeds of all impacts, by solve_ivp from impact to impact."""

    def derivative(t: float, y: np.ndarray) -> list[float]:
        return [y[1], np.cos(OMEGA * t) - y[0]]

    def closes(t: float, y: np.ndarray) -> float:
        return float(-y[0])

    closes.terminal, closes.direction = True, -1.0  # type: ignore[attr-defined]
    t, y, speeds = 0.0, np.array([-0.65, 0.02]), []
    while t < periods * PERIOD:
        run = solve_ivp(derivative, (t, periods * PERIOD), y, events=closes, rtol=rtol, atol=rtol)
        t, y = run.t[-1], run.y[:, -1]
        if run.status == 1:
            speeds.append(float(y[1]))
            y = np.array([-1e-15, -E * y[1]])
    return speeds


def events(quick: bool) -> dict[str, float]:
    """Periods per second by events, of many copies and by SciPy, and the relative error of the speed of impacts."""
    exact, n, few = exact_speed(), 500, 60
    periods = 100 if quick else 500
    found: dict[str, float] = {}
    for steps in (16, 64):
        copies = oscillators(np.full(n, OMEGA))
        jo.vibro.sections(copies, period=PERIOD, steps=steps, periods=1)
        took = timed(lambda s=steps, c=copies: jo.vibro.sections(c, period=PERIOD, steps=s, periods=periods))  # type: ignore[misc]
        hits = jo.vibro.impacts(oscillators(np.array([OMEGA])), t=steps * 400 * (PERIOD / steps), h=PERIOD / steps)
        found[f"{steps} steps, periods per second"] = n * periods / took
        found[f"{steps} steps, error"] = abs(float(hits.speed[0, -1]) / exact - 1.0)
    for rtol in (1e-4, 1e-7):
        speeds: list[float] = []
        took = timed(lambda r=rtol, s=speeds: s.extend(by_scipy(few, r)))  # type: ignore[misc]
        found[f"solve_ivp rtol {rtol:g}, periods per second"] = few / took
        found[f"solve_ivp rtol {rtol:g}, error"] = abs(speeds[-1] / exact - 1.0)
    return found


def diagram(quick: bool, picture: str | None) -> dict[str, float]:
    """The bifurcation diagram with 1000 parameters and 500 periods (quick: 100 parameters, scaled up)."""
    n = 100 if quick else 1000
    omega = np.linspace(2.6, 3.2, n)
    copies = oscillators(omega)
    run = {"period": 2.0 * np.pi / omega, "steps": 24}
    seen = []
    took = timed(lambda: seen.append(jo.vibro.sections(copies, periods=500, skip=400, **run)))
    if picture is not None:
        ax = jo.viz.bifurcation(omega, seen[0].q[:, :, 0], names=(r"$\omega$", "position once a period"))
        ax.figure.savefig(picture, dpi=120)
    return {"parameters": n, "seconds": took, "seconds for 1000 parameters": took * 1000 / n}


def one_ball(seconds: float) -> dict[str, float]:
    """Microseconds a step of one ball by `solve`, and of the same scheme by hand."""
    steps, h = 2000, 1e-3
    ball = jo.Motion(
        q0=[0.0, 1.0], v0=[1.0, 0.0], force=[0.0, -9.81], within=jo.HalfSpace([0, 1]), law=jo.Restitution(0.8)
    )
    hand = best_of(lambda: by_hand(steps, h, 0.8), seconds) / steps * 1e6
    found = {"by hand": hand}
    for scheme in (jo.Paoli(), jo.MoreauJean()):
        took = best_of(lambda s=scheme: jo.solve(ball, s, t=steps * h, h=h), seconds)  # type: ignore[misc]
        found[type(scheme).__name__] = took / steps * 1e6
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter measurements")
    parser.add_argument("--picture", help="file for the bifurcation diagram")
    told = parser.parse_args()
    print(f"{threads()} threads")
    speed = steps_per_second(told.quick)
    for name, value in speed.items():
        print(f"{name:24s}{value:14.0f} steps/s")
    ratio = {name: speed[f"{name} compiled"] / speed[f"{name} by solve"] for name in ("Paoli", "MoreauJean")}
    print(f"compiled / by solve: {', '.join(f'{name} {value:.0f}' for name, value in ratio.items())}\n")
    rates = events(told.quick)
    for name, value in rates.items():
        print(f"{name:42s}{value:14.3g}")
    over_scipy = rates["64 steps, periods per second"] / rates["solve_ivp rtol 1e-07, periods per second"]
    print(f"64 steps / solve_ivp rtol 1e-7: {over_scipy:.0f} times as many periods per second\n")
    by_loop = beside_a_loop(told.quick)
    for name, value in by_loop.items():
        print(f"{name:42s}{value:14.3g}")
    print()
    drawn = diagram(told.quick, told.picture)
    print(f"diagram of {drawn['parameters']} parameters and 500 periods: {drawn['seconds']:.1f} s\n")
    ball = one_ball(0.5 if told.quick else 3.0)
    for name, value in ball.items():
        print(f"one ball, {name:12s}{value:8.1f} us a step, {value / ball['by hand']:5.1f} times by hand")
    result = {
        "threads": threads(),
        "steps_per_second": speed,
        "compiled_over_solve": ratio,
        "events": rates,
        "loop": by_loop,
    }
    print(json.dumps({**result, "over_solve_ivp": over_scipy, "diagram": drawn, "one_ball_microseconds": ball}))
