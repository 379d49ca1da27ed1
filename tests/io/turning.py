"""Runs of bodies that turn, in the plane and in space, balls and clumps; and a program that is killed on its way."""

import os
import signal
import sys

import numpy as np

import jostle as jo

DUMBBELL = [[-1.0, 0.0], [1.0, 0.0]], 0.5
WORM = [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]], 0.4
CROSS = [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.3], [0.0, -0.5, -0.3]], [0.5, 0.5, 0.4, 0.4]


def discs():
    """Discs that roll and hit each other, with rolling resistance."""
    within = jo.Balls([1.0, 1.0, 0.9, 0.8]) & jo.HalfSpace([0.0, 1.0])
    return jo.Motion(
        q0=[[0.0, 1.0], [2.1, 1.0], [1.0, 2.9], [4.5, 1.2]], v0=[1.0, 0.0], force=[0.0, -10.0],
        mass=[1.0, 2.0, 1.0, 3.0], spin0=[1.0, 0.0, 2.0, -3.0], law=jo.Coulomb(mu=0.5, rolling=0.05), within=within,
    )  # fmt: skip


def spheres():
    """Two spheres that turn about any axes and meet on a floor."""
    within = jo.Balls([0.5, 0.4]) & jo.HalfSpace([0.0, 0.0, 1.0])
    return jo.Motion(
        q0=[[0.0, 0.0, 0.5], [1.5, 0.1, 0.4]], v0=[[3.0, 0.0, 0.0], [0.0, 0.0, 0.0]], force=[0.0, 0.0, -10.0],
        spin0=[[1.0, 2.0, 3.0], [0.0, -4.0, 1.0]], law=jo.Coulomb(mu=0.3), within=within,
    )  # fmt: skip


def clumps():
    """A dumbbell, a worm and a single disc that fall onto a floor and onto each other."""
    within = jo.Clumps([DUMBBELL, WORM, ([[0.0, 0.0]], 0.3)]) & jo.HalfSpace([0.0, 1.0])
    return jo.Motion(
        q0=[[0.0, 2.0], [3.0, 3.0], [1.0, 5.0]], force=[0.0, -10.0], orientation0=[0.3, 1.0, 0.0],
        spin0=[1.0, 2.0, 3.0], law=jo.Coulomb(mu=0.5), within=within,
    )  # fmt: skip


def crosses():
    """Clumps whose principal axes are not those of their arms, in space."""
    return jo.Motion(
        q0=[[0.0, 0.0, 1.2], [0.3, 0.5, 4.0]], force=[0.0, 0.0, -10.0], spin0=[1.0, 2.0, 3.0], law=jo.Coulomb(mu=0.2),
        within=jo.Clumps([CROSS, CROSS]) & jo.HalfSpace([0.0, 0.0, 1.0]),
    )  # fmt: skip


ALL = {"discs": discs, "spheres": spheres, "clumps": clumps, "crosses": crosses}
T, H = 0.6, 0.02


def solved(name, t=T, **more):
    return jo.solve(ALL[name](), jo.Maury(), t=t, h=H, **more)


def same(found, expected, start=0):
    """Whether a run, or the rest of one from a frame on, has the bits of another."""
    for name in ("t", "q", "u", "orientation", "spin"):
        np.testing.assert_array_equal(np.asarray(getattr(found, name)), np.asarray(getattr(expected, name))[start:])
    acting = [[p != 0.0 for p in multipliers] for multipliers in (found.multipliers, expected.multipliers[start:])]
    for name in ("multipliers", "pairs", "normals", "tangential", "rolling"):
        parts = getattr(found, name), getattr(expected, name)[start:]
        for here, there, own, other in zip(*parts, *acting, strict=True):
            np.testing.assert_array_equal(here[own], there[other])


def main(name: str, folder: str) -> None:
    """Run until the 23rd step, and die there without notice."""

    def dies(state):
        if state.t > 22.5 * H:
            os.kill(os.getpid(), signal.SIGKILL)
        return False

    output = jo.io.Output(
        f"{folder}/run.vtkhdf", contacts=True, dtype="float64", checkpoint=f"{folder}/run.checkpoint", seconds=0.0
    )
    solved(name, output=output, until=dies)


if __name__ == "__main__":
    main(*sys.argv[1:])
