"""The Wasserstein projection on {rho <= 1}: ``python benchmarks/wasserstein.py [--quick]``.

Orders: the density 2 on a disc, which becomes 1 on the disc of sqrt(2) times its radius; errors of W2^2 (from the
transport, and from the dual problem) and of the density in L1, over the mass.
Oracles: a rectangle of density 4 beside the exact linear program (HiGHS; the network simplex of POT, if it is
installed), with second moments along both axes, which tell it from the obstacle step.
Methods: how much of W2^2 the dual problem lacks after some iterations, for the ascent of `wasserstein_projection` on
one grid, and for plain steps of the back-and-forth method: gradients in H^1 by cosine transforms (Jacobs, Lee & Léger
2021).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.fft import dctn, idctn

from jostle import macro
from jostle.macro.motion.wasserstein import _iterate, _step, c_transform, map_of_faces, pushed

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "macro" / "motion"))
from wasserstein_oracles import by_linear_program

R0, DENSITY = 0.25, 2.0
EXACT = DENSITY * (np.sqrt(DENSITY) - 1) ** 2 * np.pi * R0**4 / 2
SUBCELLS = 8


def disc(grid: macro.Grid, radius: float) -> np.ndarray:
    """The fraction of each cell of a unit square in a disc around the middle."""
    fine = macro.Grid(grid.lower, grid.upper, h=grid.h / SUBCELLS)
    nx, ny = grid.shape
    inside = np.asarray(fine.disc([0.5, 0.5], radius), dtype=float)
    return inside.reshape(nx, SUBCELLS, ny, SUBCELLS).mean(axis=(1, 3))


def timed(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds that passed, seconds of processor time, and the answer."""
    begin, used = time.perf_counter(), time.process_time()
    answer = call()
    return time.perf_counter() - begin, time.process_time() - used, answer


def orders(sizes: list[int]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    print("disc of density 2")
    print(f"{'n':>5} {'W2^2':>9} {'order':>6} {'dual':>9} {'order':>6} {'density':>9} {'order':>6} "
          f"{'gap':>8} {'steps':>6} {'s':>7} {'cpu s':>7} {'obstacle step, s':>17}")  # fmt: skip
    for n in sizes:
        grid = macro.Grid([0, 0], [1, 1], h=1 / n, closed=True)
        density, target = DENSITY * disc(grid, R0), disc(grid, np.sqrt(DENSITY) * R0)
        seconds, processor, answer = timed(lambda: macro.wasserstein_projection(grid, density))  # noqa: B023
        cheap = timed(lambda: macro.obstacle_step(grid, density))[0]  # noqa: B023
        errors = {
            "cost": abs(answer.squared_distance / EXACT - 1),
            "dual": abs(answer.dual / EXACT - 1),
            "density": float(np.abs(answer.density - target).sum() / target.sum()),
        }
        row = {"n": n, **errors, "gap": answer.gap / EXACT, "seconds": seconds, "processor": processor}
        row |= {"iterations": answer.iterations, "obstacle_step": cheap}
        words = []
        for name, error in errors.items():
            order = ""
            if found:
                row[f"order_{name}"] = float(np.log(found[-1][name] / error) / np.log(n / found[-1]["n"]))
                order = f"{row[f'order_{name}']:.2f}"
            words.append(f"{error:9.1e} {order:>6}")
        print(f"{n:5} {' '.join(words)} {row['gap']:8.1e} {answer.iterations:6} {seconds:7.2f} {processor:7.2f} "
              f"{cheap:17.2f}")  # fmt: skip
        found.append(row)
    return found


def by_pot(grid: macro.Grid, density: np.ndarray) -> np.ndarray | None:
    """The same linear program by POT: a source without cost takes the room that is left."""
    try:
        import ot
    except ImportError:
        return None
    place = np.argwhere(np.ones(grid.shape, dtype=bool))
    sources = np.flatnonzero(density)
    cost = ((place[sources][:, None] - place) ** 2).sum(axis=2).astype(float)
    rest = density.size - density.sum()
    plan = ot.emd(np.append(density.ravel()[sources], rest), np.ones(density.size),
                  np.vstack([cost, np.zeros(density.size)]), numItermax=10**7)  # fmt: skip
    return np.asarray(plan[:-1].sum(axis=0).reshape(grid.shape))


def moments(grid: macro.Grid, density: np.ndarray) -> tuple[float, float]:
    x, y = (place - 0.5 * (low + high) for place, low, high in zip(grid.centres, grid.lower, grid.upper, strict=True))
    return tuple(float((density * z**2).sum() / density.sum() + grid.h**2 / 12) for z in (x, y))


def oracles(n: int) -> list[dict[str, Any]]:
    grid = macro.Grid([0, 0], [2, 4 / 3], h=1 / n, closed=True)
    density = 4.0 * grid.block([0.5, 13 / 24], [1.5, 19 / 24])
    methods: dict[str, Callable[[], np.ndarray | None]] = {
        "linear program, HiGHS": lambda: by_linear_program(grid, density)[0],
        "linear program, POT": lambda: by_pot(grid, density),
        "Wasserstein projection": lambda: macro.wasserstein_projection(grid, density).density,
        "obstacle step": lambda: macro.obstacle_step(grid, density).density,
    }
    print(f"\nrectangle of density 4 on {grid.shape[0]} x {grid.shape[1]} cells")
    print(f"{'method':24} {'moment x':>9} {'moment y':>9} {'off':>7} {'s':>7} {'HiGHS / this':>13}")
    found: list[dict[str, Any]] = []
    for name, call in methods.items():
        seconds, _, answer = timed(call)
        if answer is None:
            print(f"{name:24} not installed: pip install POT")
            continue
        x, y = moments(grid, answer)
        first = found[0] if found else {"x": x, "seconds": seconds}
        found.append({"method": name, "x": x, "y": y, "seconds": seconds, "ratio": first["seconds"] / seconds})
        print(f"{name:24} {x:9.5f} {y:9.5f} {x / first['x'] - 1:7.1%} {seconds:7.3f} {found[-1]['ratio']:13.1f}")
    return found


def back_and_forth(rho: np.ndarray, iterations: int) -> list[float]:
    """2 J after each iteration of the back-and-forth method with steps in H^1, and 1 where p > 0 for U*'."""
    frequency = [2.0 - 2.0 * np.cos(np.pi * np.arange(n) / n) for n in rho.shape]
    symbol = np.add.outer(*frequency)
    symbol[0, 0] = symbol.ravel()[1:].min()

    def smooth(gradient: np.ndarray) -> np.ndarray:
        return idctn(dctn(gradient, norm="ortho") / symbol, norm="ortho")

    def value(q: np.ndarray, p: np.ndarray) -> float:
        return 2.0 * float((rho * q).sum() - np.maximum(p, 0.0).sum())

    p, values, size = np.zeros(rho.shape), [], 1.0
    for _ in range(iterations):
        q = c_transform(p)
        p = p + size * smooth(pushed(rho, *map_of_faces(q)) - (p > 0.0))
        q = c_transform(p)
        p = -c_transform(-q)
        q = q + size * smooth(rho - pushed((p > 0.0).astype(float), *map_of_faces(-p)))
        p = -c_transform(-q)
        q = c_transform(p)
        values.append(value(q, p))
        if len(values) > 1 and values[-1] < values[-2]:
            size *= 0.8  # as in the authors' program: shorter steps when the value falls
    return values


def methods(n: int, iterations: list[int]) -> list[dict[str, Any]]:
    grid = macro.Grid([0, 0], [1, 1], h=1 / n, closed=True)
    found = []
    print(f"\nW2^2 - 2 J over W2^2 after iterations on {n} x {n} cells")
    print(f"{'density':22} {'method':28} " + " ".join(f"{k:>9}" for k in iterations) + f" {'ms a step':>10}")
    x, y = grid.centres
    hill = 0.6 + 1.5 * np.exp(-40 * ((x - 0.4) ** 2 + (y - 0.5) ** 2))
    cases = {"2 on a disc": 2.0 * disc(grid, R0), "0.6 and a hill of 1.5": hill}
    for case, rho in cases.items():
        best = macro.wasserstein_projection(grid, rho).dual / grid.h**4
        for name in ("obstacle steps (ours)", "back and forth, gradients"):
            begin = time.perf_counter()
            if name.startswith("back"):
                values = back_and_forth(rho, iterations[-1])
            else:
                now, values = _iterate(rho, np.zeros(rho.shape)), []
                for _ in range(iterations[-1]):
                    now = _iterate(rho, _step(now))
                    values.append(2.0 * now.J)
            each = 1e3 * (time.perf_counter() - begin) / iterations[-1]
            lacks = [1 - values[k - 1] / best for k in iterations]
            found.append({"case": case, "method": name, "lacks": lacks, "iterations": iterations, "ms": each})
            print(f"{case:22} {name:28} " + " ".join(f"{lack:9.1e}" for lack in lacks) + f" {each:10.1f}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="Small grids only, in less than 50 s.")
    quick = parser.parse_args().quick
    macro.wasserstein_projection(macro.Grid([0, 0], [8, 8], h=1.0), np.pad([[2.0]], [(3, 4), (3, 4)]))  # compiles
    table = {
        "orders": orders([32, 64, 128] if quick else [32, 64, 128, 256, 512]),
        "oracles": oracles(24),
        "methods": methods(64, [5, 10, 20, 40]),
    }
    print(json.dumps(table))


if __name__ == "__main__":
    main()
