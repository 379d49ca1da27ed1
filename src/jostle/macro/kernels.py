"""The loops of densities: envelopes of parabolas, the obstacle problem, isotonic regression.

`compiled` computes these kernels; the tests have them in plain NumPy.
"""

from __future__ import annotations

from jostle._tools.arrays import Array, Booleans, Integers
from jostle.kernels.interface import kernel


@kernel("jostle.macro.compiled")
def obstacle(
    east: Array, north: Array, extra: Array, b: Array, start: Array, jammed: Booleans, held: Booleans,
    precision: float, tol: float, zero: float, most: int, cycles: int,
) -> tuple[Array, int, int]:  # fmt: skip
    """(p, steps, cycles) with p >= 0, A p - b >= 0, p (A p - b) = 0 on the cells of a grid.

    (A p)_c = extra_c p_c + the sum over the four neighbours of weight (p_c - p_neighbour); east is the weight between
    [i, j] and [i + 1, j], north between [i, j] and [i, j + 1].
    Primal-dual active sets: the jammed cells to start from are given; those that are held stay jammed. p is zero where
    A has no diagonal; elsewhere A must be positive definite. Linear systems are solved here without a start, exactly.
    An implementation may start from `start` and solve them up to `precision`, in the last steps up to tol (of |b|), in
    no more than `cycles` cycles each; there an entry of p below the part `zero` of the largest, or one of A p - b below
    that part of the largest |b|, has no sign.
    """
    raise NotImplementedError


@kernel("jostle.macro.compiled")
def isotonic(y: Array, mass: Array, order: Integers, starts: Integers, low: Booleans, high: Booleans) -> Array:
    """(n,) run by run, the nearest non-decreasing u to y, >= 0 after a wall (low), <= 0 before one (high).

    The points of run r are order[starts[r]:starts[r + 1]]; mass of length 0: all one.
    """
    raise NotImplementedError


@kernel("jostle.macro.compiled")
def pressures(lost: Array, mass: Array, order: Integers, starts: Integers, low: Booleans, high: Booleans) -> Array:
    """(n + runs,) at the edges of all runs, the sum of mass times what was lost, from a free end on.

    Between two walls the least pressure is zero; at a free end it is zero, and nowhere is it negative.
    """
    raise NotImplementedError


@kernel("jostle.macro.compiled")
def envelopes(p: Array) -> Array:
    """(m, n): for each row, and i = 0 ... n - 1, the least (i - y)^2 / 2 + p(y) over 0 <= y <= n - 1.

    The least value over the whole numbers y = j is looked for first. Between j and its neighbours p is then taken for a
    parabola, with the smaller of the second differences at both ends (that of the next place at an end of the row), so
    that a kink of p stays one.
    """
    raise NotImplementedError
