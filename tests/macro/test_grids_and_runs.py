"""The kernels of the macroscopic laws against their definitions: the obstacle problem on a grid, runs of points."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from jostle.macro import compiled
from jostle.macro.obstacle import FivePoint
from kernel_definitions import five_point
from kernel_sets import cpu, reference


def weights(nx, ny, kind, seed=0):
    """Couplings of a zone with free boundaries: all cells, with holes, with walls, or of any size."""
    random = np.random.default_rng(seed + 100 * nx + ny)
    zone = np.ones((nx, ny), dtype=bool) if kind == "full" else random.random((nx, ny)) < 0.75
    east, north, extra = np.zeros((3, nx, ny))
    east[:-1] = zone[:-1] & zone[1:]
    north[:, :-1] = zone[:, :-1] & zone[:, 1:]
    around = np.pad(zone, 1)
    sides = (around[:-2, 1:-1], around[2:, 1:-1], around[1:-1, :-2], around[1:-1, 2:])
    for side in sides:
        extra += 2.0 * (zone & ~side) * (random.random((nx, ny)) < (0.5 if kind == "walls" else 1.0))
    if kind == "walls":
        extra += 0.5 * zone  # nothing may be shut in here
    if kind == "any":
        east, north, extra = (field * random.uniform(0.1, 5.0, (nx, ny)) for field in (east, north, extra))
        extra += 0.1 * zone
    return east, north, extra, random.normal(size=(nx, ny)) * zone


def solved(east, north, extra, b, start=None, precision=1e-3, tol=1e-12, most=200, kernels=cpu):
    there = FivePoint(east, north, extra).diagonal > 0.0
    jammed = there if start is None else (start > 0.0) & there
    first = np.zeros_like(b) if start is None else start
    rest = jammed, np.zeros_like(there), precision, tol, 1e-10, most, 200
    return kernels.obstacle(east, north, extra, b, first, *rest)


def defined(*fields):
    return solved(*fields, kernels=reference)[0]


@pytest.mark.parametrize("kind", ["full", "holes", "walls", "any"])
@pytest.mark.parametrize(("nx", "ny"), [(1, 1), (1, 9), (7, 1), (5, 8), (16, 16), (23, 17)])
def test_the_obstacle_problem_is_its_definition(nx, ny, kind):
    east, north, extra, b = weights(nx, ny, kind)
    p, _, _ = solved(east, north, extra, b)
    exact = defined(east, north, extra, b)
    np.testing.assert_allclose(np.maximum(p, 0.0), exact, atol=1e-9 * (1.0 + np.abs(exact).max()))
    A = five_point(east, north, extra)
    rate = A @ exact.ravel() - b.ravel()
    scale = 1.0 + np.abs(b).max()
    assert rate[A.diagonal() > 0.0].min(initial=0.0) >= -1e-10 * scale
    assert np.abs(exact.ravel() * rate).max() <= 1e-9 * scale * (1.0 + exact.max())


@pytest.mark.parametrize("seed", range(4))
def test_the_obstacle_problem_has_one_answer_from_any_start(seed):
    east, north, extra, b = weights(19, 14, "holes", seed)
    start = np.random.default_rng(seed).normal(size=b.shape)
    cold, warm = solved(east, north, extra, b)[0], solved(east, north, extra, b, np.maximum(start, 0.0))[0]
    np.testing.assert_allclose(np.maximum(warm, 0.0), np.maximum(cold, 0.0), atol=1e-9)


def test_a_start_at_the_answer_needs_no_cycle_beyond_the_test():
    east, north, extra, b = weights(23, 17, "full")
    answer = defined(east, north, extra, b)
    _, steps, cycles = solved(east, north, extra, b, answer, precision=1e-9, tol=1e-9)
    assert (steps, cycles) == (1, 0)


def test_cycles_do_not_grow_with_the_grid():
    cycles = []
    for n in (32, 64, 128, 256):
        east, north, extra, _ = weights(n, n, "full")
        cycles.append(solved(east, north, extra, np.ones((n, n)))[2])
    assert max(cycles) <= 20


def test_steps_that_ran_out_are_told():
    east, north, extra, b = weights(16, 16, "full")
    assert solved(east, north, extra, b, most=1)[1] == 1
    p = solved(east, north, extra, b, most=1)[0]
    assert np.abs(np.maximum(p, 0.0) - defined(east, north, extra, b)).max() > 1e-6


@pytest.mark.parametrize("masses", ["alike", "given"])
@pytest.mark.parametrize(("low", "high"), [(False, False), (True, False), (False, True), (True, True)])
def test_runs_are_their_definition_and_the_library_agrees(low, high, masses):
    random = np.random.default_rng(5)
    lengths = np.array([1, 2, 7, 1, 30, 12])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    n = int(starts[-1])
    order = random.permutation(n)
    y = np.round(random.normal(size=n), 1)  # with equal values
    mass = random.uniform(0.5, 2.0, n) if masses == "given" else np.zeros(0)
    lows, highs = np.full(len(lengths), low), np.full(len(lengths), high)
    lows[2], highs[3] = not low, not high
    u = cpu.isotonic(y, mass, order, starts, lows, highs)
    p = cpu.pressures(y - u, mass, order, starts, lows, highs)
    np.testing.assert_allclose(u, reference.isotonic(y, mass, order, starts, lows, highs), atol=1e-12)
    np.testing.assert_allclose(p, reference.pressures(y - u, mass, order, starts, lows, highs), atol=1e-12)
    for run, (a, b) in enumerate(pairwise(starts)):
        points = order[a:b]
        m = mass[points] if masses == "given" else np.ones(b - a)
        if not (lows[run] or highs[run]):
            np.testing.assert_allclose(u[points], isotonic_regression(y[points], weights=m).x, atol=1e-12)


def test_jammed_cells_without_a_load_have_no_pressure():
    """The squares of their residuals become zero before they are below a fraction of a load that is zero."""
    nx, ny = 24, 20
    east, north, extra = (np.full((nx, ny), 1e8) for _ in range(3))
    b = np.full((nx, ny), -1.0)
    b[4:20, 3:17] = 0.0
    p, _, _ = solved(east, north, 0.01 * extra, b, start=np.where(b == 0.0, 1e-9, 0.0))
    assert np.abs(p).max() <= 1e-20


def test_bits_do_not_depend_on_the_addresses_of_arrays(monkeypatch):
    """Loops with several compiled versions choose one by the distances of their arrays."""
    east, north, extra, b = weights(64, 64, "full")
    memory, found = np.zeros(4_000_000, np.uint8), set()
    for shift in (0, 8, 16, 24, 40):
        for distance in (49_152, 65_536, 200_000):  # an array has up to 47 kB
            places = iter(range(distance, memory.size, distance))

            def zeros(shape, dtype=float, places=places, shift=shift):
                size, first = int(np.prod(shape)) * np.dtype(dtype).itemsize, next(places) + shift
                memory[first : first + size] = 0
                return memory[first : first + size].view(dtype).reshape(shape)

            with monkeypatch.context() as patch:
                patch.setattr(compiled, "np", SimpleNamespace(**{**vars(np), "zeros": zeros}))
                found.add(
                    cpu.obstacle(east, north, extra, b, b, b > 0.0, b > 9.0, 1e-3, 1e-12, 1e-10, 50, 200)[0].tobytes()
                )
    assert len(found) == 1


def test_no_sum_of_a_density_may_be_taken_in_another_order():
    """A loop that adds up in any order has several compiled versions with other round-off."""
    kernels = [each for each in vars(compiled).values() if hasattr(each, "targetoptions")]
    assert len(kernels) > 10
    for each in kernels:
        assert set(each.targetoptions.get("fastmath") or ()) <= {"contract"}, each.__name__
