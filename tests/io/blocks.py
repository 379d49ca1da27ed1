"""A density whose run goes to a file, and a program that goes on with it until it is killed or the disk is full."""

import signal
import sys
from pathlib import Path

import jostle as jo
from jostle.errors import WriteFailed
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


def until_it_is_killed(folder: Path, resume: bool) -> None:
    growing.COMMIT_INTERVAL = 0.1
    run(folder, 1e6, **kept(folder, resume))


def until_the_disk_is_full(folder: Path) -> None:
    import resource

    growing.COMMIT_INTERVAL = 0.0
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700_000, 700_000))
    try:
        run(folder, 1e6, every=1)
    except WriteFailed as error:
        print(len(error.solution.t), error.frames, error)


if __name__ == "__main__":
    what, folder = sys.argv[1], Path(sys.argv[2])
    if what == "full":
        until_the_disk_is_full(folder)
    else:
        until_it_is_killed(folder, resume=what == "resume")
