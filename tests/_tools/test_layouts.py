"""Where the entries of an array lie in memory makes no difference: in the order of Fortran, or with gaps between."""

import numpy as np
import pytest

import jostle as jo
from kernel_sets import reference


def spread(array):
    """The same array with gaps between its entries."""
    array = np.asarray(array)
    wide = np.empty((*array.shape, 2), array.dtype)
    wide[..., 0] = array
    return wide[..., 0]


LAYOUTS = {"Fortran": np.asfortranarray, "gaps": spread}
SOLVERS = [
    jo.ActiveSet(),
    jo.InteriorPoint(),
    jo.GaussSeidel(),
    jo.Automatic(),
    jo.GaussSeidel(max_iterations=30, budget=True),
]
LATTICE = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
RADII = np.full(25, 0.5)


@pytest.fixture(params=LAYOUTS.values(), ids=list(LAYOUTS))
def laid(request):
    return request.param


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
def test_general_rows_are_projected_on_alike(solver, laid):
    random = np.random.default_rng(0)
    G, c, w, mass = random.normal(size=(4, 6)), random.normal(size=4) - 0.5, random.normal(size=6), np.arange(1.0, 7.0)
    found = [
        solver.project(
            lay(w), jo.convex.Polyhedron(lay(G), lay(c), length=lay(np.ones(4)), noise=lay(np.zeros(4))), mass=lay(mass)
        )
        for lay in (np.ascontiguousarray, laid)
    ]
    np.testing.assert_allclose(found[1].point, found[0].point, atol=1e-14)


@pytest.mark.each_value
@pytest.mark.parametrize("kind", [np.int64, np.int32])
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
def test_contacts_are_projected_on_alike(solver, kind, laid):
    (i, j), normal, gap = reference.all_pairs(LATTICE, RADII, np.full(25, 0.2), np.full(2, np.inf))
    w, points = np.random.default_rng(0).normal(size=(25, 2)), []
    for lay in (np.ascontiguousarray, laid):
        G = jo.convex.Pairs(lay(i.astype(kind)), lay(j.astype(kind)), lay(normal), 25, lay(LATTICE))
        K = jo.convex.Polyhedron(G, lay(gap), length=lay(np.full(len(gap), 0.5)))
        points.append(solver.project(lay(w), K, mass=lay(np.ones((25, 2)))).point)
    np.testing.assert_array_equal(points[1], points[0])


@pytest.mark.each_value
@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Paoli(), jo.MoreauJean(), jo.Gluey(), jo.Venel()], ids=str)
def test_runs_are_alike(scheme, laid):
    found = []
    for lay in (np.ascontiguousarray, laid):
        walls = jo.Box(lay([-1.0, -1.0]), [np.inf, np.inf]) & jo.Segments(lay([[[-1.0, 6.0], [9.0, 6.0]]]))
        within = jo.Balls(lay(RADII)) & walls
        problem = (
            jo.Sweeping(q0=lay(LATTICE), velocity=lambda t, q, lay=lay: lay(-0.3 * q), within=within)
            if isinstance(scheme, jo.Venel)
            else jo.Motion(
                q0=lay(LATTICE), v0=lay(-0.3 * LATTICE), mass=lay(np.linspace(1.0, 2.0, 25)), within=within,
                force=lambda t, q, lay=lay: lay(0.1 * q),
            )
        )  # fmt: skip
        found.append(jo.solve(problem, scheme, t=0.1, h=0.02).q[-1])
    np.testing.assert_array_equal(found[1], found[0])


@pytest.mark.parametrize(
    "law", [jo.macro.Isotropic, jo.macro.Square, jo.macro.Triangular], ids=lambda law: law.__name__
)
def test_fields_are_alike(law, laid):
    grid, found = jo.macro.Grid([-1, -1], [1, 1], h=1 / 5), []
    for lay in (np.ascontiguousarray, laid):
        U = grid.velocity(lambda x, y, lay=lay: lay(-x), lambda x, y, lay=lay: lay(y))
        found.append(law(grid, saturated=lay(grid.disc([0, 0], 1.0))).impact(U).u.cells)
    np.testing.assert_array_equal(found[1], found[0])
