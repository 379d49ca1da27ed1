"""What a step promises of rigid shapes: no overlap by translations, and by turning at most what the theory says."""

import hypothesis.strategies as st
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from scipy.spatial import ConvexHull

import jostle as jo

ALLOWED = 1e-7
"""Overlaps of a solver with tol = 1e-8, in the unit of a length."""


@st.composite
def shapes(draw, rounding=None):
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return jo.shapes.Box([draw(st.floats(0.5, 2.0)), draw(st.floats(0.3, 1.0))], rounding=rounding)
    if kind == 1:
        return jo.shapes.Capsule(draw(st.floats(0.3, 1.5)), draw(st.floats(0.1, 0.3)))
    if kind == 2:
        return jo.shapes.Ball(draw(st.floats(0.2, 0.5)))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    points = random.uniform(-0.7, 0.7, (8, 2))
    return jo.shapes.Polygon(points[ConvexHull(points).vertices], rounding=rounding)


@st.composite
def throws(draw, n=3):
    """Bodies that fly at each other from a circle, and turned."""
    made, random = [draw(shapes()) for _ in range(n)], np.random.default_rng(draw(st.integers(0, 9999)))
    around = 2.0 * np.pi * (np.arange(n) + 0.3 * random.uniform(size=n)) / n
    q0 = 2.5 * np.stack([np.cos(around), np.sin(around)], axis=1)
    start = {"q0": q0, "v0": -q0 * draw(st.floats(0.5, 4.0)) + random.normal(size=(n, 2))}
    start["orientation0"] = random.uniform(0.0, 6.0, n)
    law = draw(st.sampled_from([None, jo.Coulomb(0.6)]))
    return made, start | {"law": law}, draw(st.sampled_from([0.02, 0.05, 0.2]))


def outlines(sol, made, k):
    """The bodies as polygons with fine arcs, and less by what a solver leaves."""
    found = []
    for shape, q, angle in zip(made, np.asarray(sol.q[k]), sol.orientation[k], strict=True):
        c, s = np.cos(angle), np.sin(angle)
        (core,) = shape.of_dimension(2).cores
        points = shapely.MultiPoint(core.vertices @ np.array([[c, s], [-s, c]]) + q).convex_hull
        found.append((points, core.radius))
    return found


def depth(sol, made):
    """The deepest overlap of cores that are apart, over all saved times."""
    deepest = 0.0
    for k in range(len(sol.t)):
        all_here = outlines(sol, made, k)
        for i, (one, r) in enumerate(all_here):
            for other, s in all_here[:i]:
                deepest = max(deepest, r + s - one.distance(other))
    return deepest


@given(throws())
@settings(max_examples=10, deadline=None)
def test_translations_never_overlap_at_any_step(thrown):
    """A body that turns by h w while it flies on by h u may overlap by the product: 7e-9 at this inertia."""
    made, start, h = thrown
    problem = jo.Motion(inertia=1e8, within=jo.Shapes(made), **start | {"law": None})
    sol = jo.solve(problem, jo.Maury(), t=2.0 if h > 0.1 else 0.6, h=h)
    assert depth(sol, made) <= ALLOWED


@given(throws())
@settings(max_examples=10, deadline=None)
def test_overlaps_of_bodies_that_turn_are_of_second_order_and_reported(thrown):
    made, start, h = thrown
    sol = jo.solve(jo.Motion(within=jo.Shapes(made), **start), jo.Maury(), t=2.0 if h > 0.1 else 0.6, h=h)
    turned = h * np.abs(sol.spin).max()
    largest = max(float(np.linalg.norm(shape.of_dimension(2).cores[0].vertices, axis=1).max()) for shape in made) + 0.5
    found = depth(sol, made)
    assert found <= 2.0 * turned**2 * largest + ALLOWED
    smallest = min(shape.of_dimension(2).size for shape in made) / 2.0
    assert found <= sol.overlap * smallest + ALLOWED  # cores that overlap are not deeper than their roundings here


@given(
    shapes(rounding=1e-3), st.floats(-8.0, 8.0), st.floats(0.0, 6.0), st.sampled_from([0.02, 0.05, 0.2]), st.booleans()
)
@settings(max_examples=10, deadline=None)
def test_a_corner_that_turns_over_a_floor_never_sinks(shape, spin, angle, h, rough):
    """The radius of curvature of a corner is less than the height of the centre of mass above it.

    They are the same where a capsule lies, and its higher end is above the centre: a term of third order is left.
    """
    floor, law = jo.HalfSpace([0.0, 1.0]), jo.Coulomb(0.6) if rough else None
    problem = jo.Motion(
        q0=[[0.0, 1.6]], v0=[[1.0, -3.0]], spin0=spin, orientation0=angle, force=[0.0, -9.81], law=law,
        within=jo.Shapes([shape]) & floor,
    )  # fmt: skip
    sol = jo.solve(problem, jo.Maury(), t=1.0, h=h)
    lowest = min(float((sol.places(k)[:, 1] - problem.bodies.radii).min()) for k in range(len(sol.t)))
    third = 0.5 * (h * np.abs(sol.spin).max()) ** 3 if isinstance(shape, jo.shapes.Capsule) else 0.0
    assert lowest >= -ALLOWED - third


@pytest.mark.parametrize("threads", [1, 2])
def test_the_bits_do_not_depend_on_the_number_of_threads(threads, monkeypatch):
    """The rows of many pairs, with the neighbours that several threads found."""
    random = np.random.default_rng(0)
    n = 300
    box = jo.shapes.Box([1.0, 0.6])
    q0 = 1.3 * np.stack(np.divmod(np.arange(n), 18), axis=1) + 0.05 * random.normal(size=(n, 2))
    within = jo.Shapes([box] * n)
    problem = jo.Motion(q0=q0, orientation0=random.uniform(0.0, 6.0, n), within=within)
    x = problem.pose0.centres
    wanted = within.linearise(0.0, x, 0.5)
    from jostle.sets import cores

    monkeypatch.setattr(cores, "chunks_of", lambda count: threads)
    found = jo.Shapes([box] * n).linearise(0.0, x, 0.5)
    for name in ("gap", "pairs", "normal"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    np.testing.assert_array_equal(found.feet.points, wanted.feet.points)
