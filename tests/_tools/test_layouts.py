"""Where the entries of an array lie in memory makes no difference: in the order of Fortran, or with gaps between."""

import numpy as np
import pytest

import jostle as jo
from kernel_sets import reference
from plain import crowd


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
        G = jo.convex.NormalRows(lay(i.astype(kind)), lay(j.astype(kind)), lay(normal), 25, lay(LATTICE))
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


def table(array):
    """A table of pandas, whose columns lie in memory one after the other."""
    return pytest.importorskip("pandas").DataFrame({"x": np.asarray(array)[:, 0], "y": np.asarray(array)[:, 1]})


FORMS = {
    **LAYOUTS,
    "columns": lambda array: np.array([array[:, 0], array[:, 1]]).T,
    "backwards": lambda array: np.asarray(array)[::-1].copy()[::-1],
    "single": np.float32,
    "big-endian": lambda array: np.asarray(array, dtype=">f8"),
    "pandas": table,
}
PLACES = np.array([[1.0, 1.0], [2.0, 1.5], [3.0, 2.0], [1.0, 5.0], [2.0, 6.0]])
CORNER = jo.crowds.Plan([(0, 0), (10, 0), (10, 4), (6, 4), (6, 8), (0, 8)], exits={"east": ((10, 1), (10, 3))})
BEHAVIOURS = {
    "none": None,
    "Inhibition": jo.crowds.Inhibition,
    "Repulsion": jo.crowds.Repulsion,
    "Pedestrians": jo.crowds.Pedestrians(),
    "Quickest": jo.crowds.Quickest,
}


@pytest.mark.each_value
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_people_walk_alike_from_places_in_any_form(form, behaviour):
    """Also in plans that are not convex, where they follow the fields of the shortest ways."""
    found = []
    for laid in (np.asarray, FORMS[form]):
        groups = [
            crowd(5, radius=0.25, room=CORNER, q0=laid(PLACES), behaviour=BEHAVIOURS[behaviour]),
            crowd(jo.crowds.Group("all", places=laid(PLACES), radius=0.25), room=CORNER),
        ]
        found.append([jo.solve(people, jo.Venel(), t=0.5, h=0.05).q[-1] for people in groups])
    np.testing.assert_array_equal(found[1], found[0])


@pytest.mark.parametrize("form", [name for name in FORMS if name != "pandas"])
def test_wishes_and_changes_take_places_in_any_form(form):
    laid, people = FORMS[form], crowd(5, radius=0.25, room=CORNER, q0=PLACES)
    for behaviour in (None, *list(BEHAVIOURS.values())[1:]):
        wish = crowd(5, radius=0.25, room=CORNER, q0=PLACES, behaviour=behaviour).wish
        np.testing.assert_allclose(wish(0.0, laid(PLACES)), wish(0.0, PLACES), atol=1e-6)
        np.testing.assert_allclose(wish.length(laid(PLACES)), wish.length(PLACES), atol=1e-6)
    gaps = [people.within.linearise(0.0, q, 9.0).gap for q in (laid(PLACES), PLACES)]
    np.testing.assert_allclose(*gaps, atol=1e-6)
    moved = [
        jo.solve(people, jo.Venel(), t=0.5, h=0.05, changes=lambda state, lay=lay: state.replace(q=lay(state.q))).q[-1]
        for lay in (np.copy, laid)
    ]
    np.testing.assert_allclose(*moved, atol=1e-5)
