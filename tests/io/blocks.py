"""A density whose run goes to a file, and a program that runs it until it is killed."""

import sys
from pathlib import Path

import jostle as jo
from jostle.io import growing
from jostle.macro import Flow, Grid, Splitting

STEP = 0.01
EVERY = 3


def blocks():
    """Two blocks of a density fly against each other."""
    grid = Grid([0, 0], [4, 1], h=1 / 4, closed=True)
    left, right = grid.block([0, 0], [1, 1]), grid.block([2, 0], [3, 1])
    return Flow(grid=grid, density=0.8 * (left | right), velocity=grid.velocity(left - right, 0))


def run(folder: Path, t: float, every: int = EVERY, progress=None, **files):
    output = jo.io.Output(folder / "run.vtkhdf", **files)
    return jo.macro.solve(blocks(), Splitting(), t=t, h=STEP, every=every, output=output, progress=progress)


def kept(folder: Path, resume: bool = False):
    return {"checkpoint": folder / "run.checkpoint", "seconds": 0.05, "resume": resume}


if __name__ == "__main__":
    growing.COMMIT_INTERVAL = 0.1
    run(Path(sys.argv[1]), 1e6, **kept(Path(sys.argv[1])))
