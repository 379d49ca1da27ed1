"""A program to be killed: for each line "path n" a child writes frames of n bodies, and says how many are safe.

The first line of an answer is the child's process number. A child is forked, so that Python starts once.
"""

import os
import sys

import numpy as np

from jostle.io.trajectory import Writer


def state(n: int, frame: int) -> tuple[np.ndarray, ...]:
    """A frame that can be told from its number: t, q, u, radii, pairs, multipliers, normals."""
    number = np.arange(n, dtype=float)
    q = np.stack([number, number + frame, np.full(n, float(frame))], axis=1)
    q[frame % n] = np.nan if frame % 3 == 0 else q[frame % n]
    first = np.arange(n - 1)
    pairs = np.stack([first, first + 1], axis=1)
    pairs[0] = 0, -1 - frame % 2
    multipliers = 1.0 + (first + frame) % 7
    normals = np.tile([1.0, 0.0, float(frame)], (n - 1, 1))
    return q, 2.0 * np.nan_to_num(q), 0.5 + (frame // 4) * np.ones(n), pairs, multipliers, normals


def assert_right(sol, n: int, frames=None) -> None:
    """These frames, or all, are what was written."""
    fields = sol.q, sol.u, sol.pairs, sol.multipliers, sol.normals
    all_or_some = (
        enumerate(zip(*fields, strict=True)) if frames is None else ((k, [f[k] for f in fields]) for k in frames)
    )
    for k, found in all_or_some:
        q, u, _, pairs, multipliers, normals = state(n, k)
        u[np.isnan(q).any(axis=1)] = 0.0
        for here, there in zip(found, (q, u, pairs, multipliers, normals), strict=True):
            np.testing.assert_array_equal(here, there, strict=True)


def write(path: str, n: int) -> None:
    writer = Writer(path, shape=(n, 3), contacts=True, impacts=True, about={"n": str(n)})
    for frame in range(10**9):
        writer.steps([(0.25 * frame, 0.25, n, n, 1, 0.0, 0.0, 0.0, 0.0, True, "ActiveSet", 0.0, 0.0)])
        writer.impacts([(0.25 * frame, (0, -1), -1.0 - frame, 1.0, 2.0, 0.25 * frame)])
        writer.frame(0.25 * frame, *state(n, frame))
        if frame % 3 == 2:
            writer.commit()
            os.write(1, f"{writer.acknowledged}\n".encode())


def main() -> None:
    for line in sys.stdin:
        path, n = line.split()
        child = os.fork()
        if child == 0:
            os.write(1, f"{os.getpid()}\n".encode())
            write(path, int(n))
        os.waitpid(child, 0)
        os.write(1, b"dead\n")


if __name__ == "__main__":
    main()
