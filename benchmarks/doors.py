"""Flow against the width of a door, beside experiments: ``python benchmarks/doors.py [--quick] [--calibrate]``.

A hundred people (radius 0.2 m, speed 1.34 m/s) stand before a door and leave, with ten seeds for each width: with the
plain model of Venel 2009, and with the inhibition v = min(v0, s / T) at its default T. The flow is
J = (N - 1) / (t_N - t_1), as in the experiments. --calibrate asks which T has the smallest mean error: that is how
`jostle.crowds.TIME_GAP` was found. --save FILE keeps the figures, of which the documentation draws its picture.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path

import numpy as np

import jostle as jo
from jostle.study import Study, grid, sweep

PEOPLE, RADIUS, SPEED, H, LONGEST = 100, 0.2, 1.34, 0.05, 240.0
STOPPED = 1e-6
"""People whose velocities are all below this part of their speed stand for good: an arch."""
EXPERIMENTS = {
    "Mueller 1981": {0.6: 1.482, 0.9: 2.264, 1.2: 2.751, 1.5: 3.574, 1.8: 3.817},
    "Seyfried 2009": {0.8: 1.288, 0.9: 1.674, 1.0: 1.900, 1.1: 2.123, 1.2: 2.364},
    "Daamen 2010": {0.85: 2.315, 1.0: 2.655},
}
"""People a second, by the width in metres; of Daamen's ranges the middle."""
WIDTHS = sorted({width for found in EXPERIMENTS.values() for width in found})
CANDIDATES = [round(0.30 + 0.05 * k, 2) for k in range(11)]


def leave(width: float, T: float | None, seed: int) -> dict[str, float]:
    """The flow, and how many had left when the last one left or an arch stood for good."""
    room = jo.crowds.Plan([(0, 0), (8, 0), (8, 8), (0, 8)], exits={"door": ((8, 4 - width / 2), (8, 4 + width / 2))})
    people = jo.crowds.crowd(
        PEOPLE,
        radius=RADIUS,
        room=room,
        speed=SPEED,
        seed=seed,
        behaviour=partial(jo.crowds.Inhibition, T=T) if T else jo.crowds.Plain(),
        start=[(3, 1), (8, 1), (8, 7), (3, 7)],
    )

    def over(state: jo.schemes.base.State) -> bool:
        still = np.abs(np.nan_to_num(state.u)).max() < STOPPED * SPEED
        return room.empty(state) or (state.t > 0.0 and still)

    sol = jo.solve(people, jo.Venel(), t=LONGEST, h=H, every=2, until=over)
    t = jo.crowds.crossings(sol, room.exits["door"]).t
    return {"flow": float((len(t) - 1) / (t[-1] - t[0])) if len(t) > 1 else 0.0, "left": len(t)}


def flows(
    widths: list[float], T: list[float] | list[float | None], seeds: int
) -> dict[tuple[float, float | None], list[tuple[float, int]]]:
    """Flow and number of those who left, for the seeds of each width and T, on all cores."""
    study = Study(leave, over=grid({"width": widths, "T": T, "seed": range(seeds)}))
    results = sweep(study)
    if results.failures:
        raise RuntimeError(results.failures)
    found: dict[tuple[float, float | None], list[tuple[float, int]]] = {}
    for run, flow, left in zip(results.runs, results["flow"], results["left"], strict=True):
        found.setdefault((run.parameters["width"], run.parameters["T"]), []).append((flow, left))
    return found


def errors(mean: dict[float, float]) -> list[float]:
    """|flow - experiment| for each experiment at a width that was run."""
    return [
        abs(mean[width] - measured)
        for found in EXPERIMENTS.values()
        for width, measured in found.items()
        if width in mean
    ]


def calibrate(seeds: int) -> dict[str, float]:
    found = flows(WIDTHS, CANDIDATES, seeds)
    print(f"mean error over {len(errors(dict.fromkeys(WIDTHS, 0.0)))} experiments, {seeds} seeds a width")
    error = {}
    for T in CANDIDATES:
        mean = {width: float(np.mean([flow for flow, _ in found[width, T]])) for width in WIDTHS}
        error[T] = float(np.mean(errors(mean)))
        print(f"T = {T:4.2f} s   {error[T]:.3f} people a second")
    best = min(error, key=error.__getitem__)
    return {"T": best, "mean_error": round(error[best], 3), "seeds": seeds}


def table(widths: list[float], seeds: int, save: Path | None) -> dict[str, object]:
    T = jo.crowds.TIME_GAP
    found = flows(widths, [None, T], seeds)
    print(f"people a second through a door; inhibition with T = {T:g} s; {seeds} seeds; all left, of {seeds}")
    print(f"{'width':>6}{'plain':>16}{'all left':>10}{'inhibition':>16}{'all left':>10}   experiments")
    rows = []
    for width in widths:
        plain, slowed = (np.array(found[width, key]) for key in (None, T))
        row = {"width": width}
        for name, runs in (("plain", plain), ("inhibition", slowed)):
            row |= {
                name: round(float(runs[:, 0].mean()), 3),
                f"{name}_spread": round(float(runs[:, 0].std()), 3),
                f"{name}_all_left": int((runs[:, 1] == PEOPLE).sum()),
            }
        rows.append(row)
        measured = ", ".join(f"{who} {of[width]:.2f}" for who, of in EXPERIMENTS.items() if width in of)
        texts = [f"{row[name]:.2f} +- {row[f'{name}_spread']:.2f}" for name in ("plain", "inhibition")]
        print(
            f"{width:6.2f}{texts[0]:>16}{row['plain_all_left']:>10}{texts[1]:>16}{row['inhibition_all_left']:>10}   "
            f"{measured}"
        )
    mean = {name: float(np.mean(errors({row["width"]: row[name] for row in rows}))) for name in ("plain", "inhibition")}
    print(f"mean error: plain {mean['plain']:.2f}, with inhibition {mean['inhibition']:.2f} people a second")
    figures = {"T": T, "seeds": seeds, "rows": rows, "mean_error": {k: round(v, 3) for k, v in mean.items()}}
    if save:
        save.write_text(json.dumps(figures | {"experiments": EXPERIMENTS}, indent=1) + "\n")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three widths, one seed")
    parser.add_argument("--calibrate", action="store_true", help="find T")
    parser.add_argument("--save", type=Path, help="keep the figures in this file")
    options = parser.parse_args()
    if options.calibrate:
        print(json.dumps(calibrate(1 if options.quick else 4)))
    else:
        print(json.dumps(table(*(([0.8, 1.2, 1.8], 1) if options.quick else (WIDTHS, 10)), options.save)))


if __name__ == "__main__":
    main()
