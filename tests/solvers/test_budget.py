"""A fixed number of iterations, warm starts, and which solver the default picks: on piles of some hundred bodies."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import jostle as jo
from jostle.convex.metric import metric

H = 0.01
RADII = np.random.default_rng(0).uniform(0.4, 0.5, 300)
ROUND_OFF = 1e-13


@pytest.fixture(scope="module")
def pile():
    """300 discs that have settled in a box; without friction some at the top still roll."""
    heap = jo.models.spheres(RADII, box=([0, 0], [15, np.inf]))
    sol = jo.solve(heap, jo.Maury(solver=jo.GaussSeidel(max_iterations=60, budget=True)), t=5.0, h=2.0 * H, every=1000)
    q = jo.nearest(sol.q[-1], heap.within, solver=jo.InteriorPoint(tol=1e-10)).point
    return jo.Motion(q0=q, force=heap.constant_force, mass=heap.mass, within=heap.within)


def run(pile, solver, steps=20, **options):
    return jo.solve(pile, jo.Maury(solver=solver), t=steps * H, h=H, **options)


# --- what a budget promises ---


def test_a_budget_that_is_too_small_is_said_and_not_raised(pile):
    sol = run(pile, jo.GaussSeidel(max_iterations=20, budget=True))
    assert sol.status == "budget"
    assert not sol.stats["converged"].any()
    assert (sol.stats["iterations"] == 20).all()
    assert (sol.stats["solver"] == "GaussSeidel").all()
    assert sol.residual > jo.GaussSeidel().tol


def test_the_same_iterations_of_a_solver_that_promises_are_an_error(pile):
    with pytest.raises(jo.NotConverged, match="stopped after 20 iterations") as caught:
        run(pile, jo.GaussSeidel(max_iterations=20))
    assert caught.value.step == 1
    loose, budget = (
        run(pile, jo.GaussSeidel(max_iterations=20), strict=False),
        run(pile, jo.GaussSeidel(max_iterations=20, budget=True)),
    )
    assert loose.status == "not converged"
    assert loose.q.tobytes() == budget.q.tobytes()


def test_a_budget_stops_at_the_overlap_that_it_is_given(pile):
    runs = [
        run(pile, jo.GaussSeidel(max_iterations=1000, budget=True, overlap=overlap), steps=40)
        for overlap in (1e-2, 1e-3, 1e-4)
    ]
    for sol, overlap in zip(runs, (1e-2, 1e-3, 1e-4), strict=True):
        assert sol.status == "budget"
        assert 0.1 * overlap < sol.stats["primal"].max() <= overlap * (1.0 + 1e-9)
        assert -sol.gaps().min() <= overlap * RADII.min() * (1.0 + 1e-9)
        assert sol.stats["iterations"].max() < 1000
    means = [sol.stats["iterations"].mean() for sol in runs]
    assert means[0] < means[1] < means[2]


def test_an_overlap_that_is_not_reached_is_in_the_statistics(pile):
    sol = run(pile, jo.GaussSeidel(max_iterations=20, budget=True, overlap=1e-6))
    assert (sol.stats["iterations"] == 20).all()
    assert sol.stats["primal"].max() > 1e-6


@pytest.mark.parametrize("overlap", [-1e-3, 1.0, np.nan])
def test_an_overlap_that_is_no_part_of_a_radius_is_refused(overlap):
    with pytest.raises(jo.InvalidValue, match="overlap is a fraction of the smallest radius"):
        jo.GaussSeidel(max_iterations=100, budget=True, overlap=overlap)


def test_an_overlap_without_a_radius_is_refused():
    K = jo.convex.Polyhedron([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
    with pytest.raises(jo.InvalidValue, match="row 0 has none; leave overlap out"):
        jo.GaussSeidel(max_iterations=100, budget=True, overlap=1e-3).project([-1.0, -1.0], K)


def test_a_single_projection_by_a_budget_says_whether_it_converged(pile):
    contacts = pile.within.linearise(H, pile.q0, 0.1)
    w, K = H * pile.constant_force / pile.mass.mass.reshape(-1, 2), contacts.velocities(H)
    few = jo.GaussSeidel(max_iterations=20, budget=True).project(w, K, pile.mass)
    plenty = jo.GaussSeidel(max_iterations=100_000, budget=True).project(w, K, pile.mass)
    assert (few.converged, few.iterations, few.solver) == (False, 20, "GaussSeidel")
    assert plenty.converged
    assert plenty.residual.within(jo.GaussSeidel().tol)
    with pytest.raises(jo.NotConverged, match="GaussSeidel stopped after 20 iterations"):
        jo.project(w, K, mass=pile.mass, solver=jo.GaussSeidel(max_iterations=20, budget=True))


@pytest.mark.parametrize("iterations", [5, 20, 200])
def test_the_primal_residual_is_the_overlap_that_was_left(pile, iterations):
    """A bound, since the gaps are convex, and not a loose one."""
    sol = run(pile, jo.GaussSeidel(max_iterations=iterations, budget=True))
    overlap = -sol.gaps()[1:] / RADII.min()
    assert (overlap <= sol.stats["primal"] + ROUND_OFF).all()
    assert overlap.max() > 0.5 * sol.stats["primal"].max()


def test_overlaps_shrink_as_the_budget_grows(pile):
    deepest = [-run(pile, jo.GaussSeidel(max_iterations=n, budget=True)).gaps().min() for n in (5, 20, 200)]
    assert deepest[0] > 3.0 * deepest[1]
    assert deepest[1] > 30.0 * deepest[2]
    assert 0.0 < deepest[1] < 0.02 * RADII.min()


def test_what_one_step_left_the_next_ones_repair(pile):
    """Overlaps under a budget do not add up from step to step."""
    overlap = -run(pile, jo.GaussSeidel(max_iterations=20, budget=True), steps=100).gaps()
    assert overlap[1:10].max() > 0.0
    assert overlap[50:].max() <= 2.0 * overlap[1:50].max()


def test_plenty_is_the_converged_answer(pile):
    plenty, converged = (
        run(pile, solver, steps=10)
        for solver in (jo.GaussSeidel(max_iterations=200_000, budget=True), jo.GaussSeidel())
    )
    assert plenty.status == "finished"
    assert plenty.stats["converged"].all()
    assert plenty.q.tobytes() == converged.q.tobytes()
    default = run(pile, jo.Automatic(), steps=10)
    fallen = np.abs(0.5 * 9.81 * (10 * H) ** 2)
    assert np.abs(plenty.q - default.q).max() < 1e-3 * fallen
    assert (
        np.abs(run(pile, jo.GaussSeidel(max_iterations=20, budget=True), steps=10).q - default.q).max() > 1e-2 * fallen
    )


def test_a_run_that_a_condition_stops_still_says_budget(pile):
    sol = run(pile, jo.GaussSeidel(max_iterations=20, budget=True), until=lambda state: state.t > 0.015)
    assert len(sol.stats) == 2
    assert sol.status == "budget"


def test_a_run_that_is_blocked_says_so_although_its_budget_was_too_small(pile):
    sol = run(pile, jo.GaussSeidel(max_iterations=20, budget=True), until=lambda state: "blocked")
    assert not sol.stats["converged"].all()
    assert sol.status == "blocked"


def test_one_step_over_budget_is_remembered_to_the_end():
    """Discs fall on a crystal that rests without weight: only the steps after they hit are too much for the budget."""
    bed = crystal()
    n = len(bed.q0)
    top = bed.q0[-15:] + np.array([0.0, 1.5])
    q, radii = np.concatenate([bed.q0, top]), np.full(n + 15, 0.5)
    within = jo.Balls(radii) & jo.Box([0.0, 0.0], [15.5, np.inf], radii=0.5)
    fall = jo.Motion(q0=q, v0=np.where(np.arange(n + 15)[:, None] < n, 0.0, [0.0, -10.0]), within=within)
    sol = jo.solve(fall, jo.Maury(solver=jo.GaussSeidel(max_iterations=30, budget=True)), t=0.12, h=H)
    assert not sol.stats["converged"].all()
    assert sol.stats["converged"][0]
    assert sol.status == "budget"
    before = jo.solve(fall, jo.Maury(solver=jo.GaussSeidel(max_iterations=30, budget=True)), t=0.03, h=H)
    assert before.status == "finished"


# --- warm starts ---


def crystal(rows=14, columns=15):
    """A triangular lattice of touching discs, at rest in a box that fits."""
    row, k = (side.ravel() for side in np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"))
    q = np.stack([k + 0.5 * (row % 2), np.sqrt(3.0) / 2.0 * row], axis=1) + 0.5
    within = jo.Balls(np.full(len(q), 0.5)) & jo.Box([0.0, 0.0], [columns + 0.5, np.inf], radii=0.5)
    return jo.Motion(q0=q, force=[0.0, -9.81], within=within)


def warm_and_cold(problem, solver, steps):
    """Iterations of each step but the first, and of the same projection from nothing, and from impulses of others."""
    scheme, counts = jo.Maury(solver=solver), []
    state = scheme.step(problem, scheme.start(problem, 0.0), H)
    for _ in range(steps):
        w = state.u + H * problem.acceleration(state.t, state.q, state.u)
        contacts = problem.within.near(state.t + H, state.q, 0.05)
        guess, K = state.impulses_of(contacts), contacts.velocities(H)
        starts = guess, None, np.roll(guess, 1)
        counts.append([solver.project(w, K, problem.mass, start).iterations for start in starts])
        state = scheme.step(problem, state, H)
    return np.array(counts)


def test_a_pile_at_rest_needs_next_to_nothing_from_the_impulses_of_the_step_before():
    bed = crystal()
    v = 1e-4 * np.random.default_rng(0).normal(size=bed.q0.shape)
    shaken = jo.Motion(q0=bed.q0, v0=v, force=bed.constant_force, within=bed.within)
    warm, cold, wrong = warm_and_cold(shaken, jo.GaussSeidel(), 5).sum(axis=0)
    assert warm < 0.4 * cold
    assert warm < 0.4 * wrong


def test_warm_starts_save_iterations_in_a_pile_that_moves(pile):
    warm, cold, wrong = warm_and_cold(pile, jo.GaussSeidel(tol=1e-4), 15).sum(axis=0)
    assert warm < 0.85 * cold
    assert warm < 0.85 * wrong


def test_impulses_follow_their_pairs_into_the_next_step(pile):
    """Between two steps rows come and go: a start by row number would be another one."""
    scheme = jo.Maury(solver=jo.GaussSeidel())
    state = scheme.step(pile, scheme.step(pile, scheme.start(pile, 0.0), H), H)
    contacts = pile.within.near(state.t + H, state.q, 0.05)
    before = {tuple(pair): p for pair, p in zip(state.contacts.pairs.tolist(), state.multipliers, strict=True)}
    assert contacts.pairs.tolist() != state.contacts.pairs.tolist()
    assert state.impulses_of(contacts).tolist() == [before.get(tuple(pair), 0.0) for pair in contacts.pairs.tolist()]


def test_under_the_same_budget_warm_steps_leave_less_than_cold_ones(pile, monkeypatch):
    warm = run(pile, jo.GaussSeidel(max_iterations=20, budget=True), steps=50)
    monkeypatch.setattr(jo.schemes.State, "impulses_of", lambda state, contacts: None)
    cold = run(pile, jo.GaussSeidel(max_iterations=20, budget=True), steps=50)
    assert 0.0 > warm.gaps()[10:].mean() > 0.6 * cold.gaps()[10:].mean()


# --- which solver the default picks ---


def first_step(problem, h=H):
    return jo.solve(problem, jo.Maury(), t=h, h=h).stats[0]


def dilute(d, n=400):
    """Pairs that collide head-on, far from each other, in a box."""
    random = np.random.default_rng(d)
    side = int(np.ceil((n // 2) ** (1.0 / d)))
    places = 5.0 * np.stack(np.meshgrid(*[np.arange(side)] * d), axis=d).reshape(-1, d)[: n // 2]
    axis = random.normal(size=places.shape)
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    q = np.concatenate([places - 0.51 * axis, places + 0.51 * axis])
    return jo.Motion(q0=q, v0=np.concatenate([10.0 * axis, -10.0 * axis]), within=jo.Balls(np.full(len(q), 0.5)))


def test_dilute_discs_end_in_a_trial_of_first_order():
    step = first_step(dilute(2))
    assert step["rows"] > 128
    assert step["active"] > 128
    assert (step["solver"], bool(step["converged"])) == ("GaussSeidel", True)
    assert step["iterations"] < 60


def test_jammed_discs_go_to_second_order(pile):
    step = first_step(pile)
    assert step["rows"] > 128
    assert (step["solver"], bool(step["converged"])) == ("InteriorPoint", True)
    assert 100 < step["iterations"] < 100 + 40  # a trial of first order, then second order


@pytest.mark.parametrize("make", [lambda: dilute(3), lambda: jammed_spheres()], ids=["dilute", "jammed"])
def test_spheres_go_to_first_order(make):
    step = first_step(make())
    assert step["rows"] > 128
    assert (step["solver"], bool(step["converged"])) == ("GaussSeidel", True)


def jammed_spheres():
    q = np.stack(np.meshgrid(*[np.arange(5.0)] * 3), axis=3).reshape(-1, 3) + 0.5
    within = jo.Balls(np.full(125, 0.5)) & jo.Box([0, 0, 0], [5, 5, np.inf], radii=0.5)
    return jo.Motion(q0=q, force=[0.0, 0.0, -9.81], within=within)


def test_what_the_default_answers_does_not_depend_on_who_answered(pile):
    """One step of the pile by four solvers: they agree within what their residuals allow."""
    w = H * pile.acceleration(0.0, pile.q0, pile.v0)
    K = pile.within.linearise(H, pile.q0, 0.1).velocities(H)
    exact = jo.ActiveSet().project(w, K, pile.mass).point
    distance = pile.mass.norm((exact - w).ravel())
    for solver in (jo.Automatic(), jo.InteriorPoint(), jo.GaussSeidel(tol=1e-8)):
        P = solver.project(w, K, pile.mass)
        assert P.converged
        assert pile.mass.norm((P.point - exact).ravel()) <= (P.residual.eta + 1e-8) * distance


@pytest.mark.parametrize(
    "columns",
    [
        20,
        pytest.param(
            35,
        ),
    ],
)
def test_nobody_is_asked_twice_when_nobody_gets_anywhere(columns, monkeypatch):
    """Discs of a square lattice; solvers that return the point as it was."""
    asked = []

    def give_up(solver, w, K, M, slack, guess):
        asked.append((solver.name, solver.max_iterations))
        return w.copy(), np.zeros(len(K.c)), 1

    for solver in (jo.GaussSeidel, jo.InteriorPoint, jo.ActiveSet):
        monkeypatch.setattr(solver, "_solve", give_up)
    q = np.stack(np.meshgrid(np.arange(float(columns)), np.arange(float(columns))), axis=2).reshape(-1, 2)
    K = jo.Balls(np.full(len(q), 0.5)).linearise(0.0, q, 0.1).velocities(H)
    P = jo.Automatic().project(np.random.default_rng(0).normal(size=q.shape), K)
    assert not P.converged
    assert len(asked) == len(set(asked))
    assert {name for name, _ in asked} >= {"GaussSeidel", "InteriorPoint"}


# --- sets without a point ---


def crushed(d):
    """Balls of a cubic lattice, touching, in a box that is too narrow by a tenth of a radius along each axis."""
    side = 12 if d == 2 else 5
    q = np.stack(np.meshgrid(*[np.arange(float(side))] * d), axis=d).reshape(-1, d) + 0.5
    n = len(q)
    within = jo.Balls(np.full(n, 0.5)) & jo.Box(np.full(d, 0.05), np.full(d, side - 0.05), radii=0.5)
    return np.zeros((n, d)), within.linearise(0.0, q, 0.1).velocities(H)


def turned_round(n=150):
    """u_0 <= u_1 <= ... <= u_n-1 <= u_0 - 1, in sparse rows."""
    rows = np.diff(np.eye(n), axis=0)
    last = np.zeros((1, n))
    last[0, 0], last[0, -1] = 1.0, -1.0
    G, c = csr_array(np.concatenate([rows, last])), np.append(np.zeros(n - 1), -1.0)
    return np.linspace(1.0, -1.0, n), jo.convex.Polyhedron(G, c)


EMPTY = {"discs": lambda: crushed(2), "spheres": lambda: crushed(3), "sparse rows": turned_round}
every_empty_set = pytest.mark.parametrize("make", EMPTY.values(), ids=list(EMPTY))


@every_empty_set
@pytest.mark.parametrize(
    "solver", [jo.GaussSeidel(max_iterations=2000), jo.InteriorPoint(), jo.Automatic()], ids=lambda solver: solver.name
)
def test_a_set_without_a_point_is_refused_with_a_proof(make, solver):
    """y >= 0 with G^T y = 0 and c . y < 0."""
    w, K = make()
    assert K.G.shape[0] > 128
    assert K.G.shape[0] * K.G.shape[1] > 16_384
    with pytest.raises(jo.errors.EmptySet, match="contradict each other") as caught:
        solver.project(w, K)
    y = caught.value.weights
    assert y.min() >= 0.0
    assert np.abs(K.G.adjoint(y)).max() <= 1e-6 * y.max()
    assert K.c @ y < -1e-6 * np.abs(K.c).max() * y.max()


@every_empty_set
def test_a_budget_makes_do_with_a_set_without_a_point(make):
    w, K = make()
    P = jo.GaussSeidel(max_iterations=300, budget=True).project(w, K)
    assert not P.converged
    assert P.iterations == 300
    assert np.isfinite(P.point).all()
    assert P.residual.primal > 1e-3


def test_a_run_on_a_budget_goes_on_while_walls_crush_a_jam():
    q = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=2).reshape(-1, 2) + 0.5
    press = jo.Box([0.0, 0.0], lambda t: [12.0 - t, 12.0], radii=0.5)
    jam = jo.Sweeping(q0=q, within=jo.Balls(np.full(144, 0.5)) & press)
    with pytest.raises(jo.errors.EmptySet, match="linearised at the last q"):
        jo.solve(jam, jo.Venel(), t=0.1, h=H)
    sol = jo.solve(jam, jo.Venel(solver=jo.GaussSeidel(max_iterations=100, budget=True)), t=0.1, h=H)
    assert sol.status == "budget"
    assert -0.1 < sol.gaps()[-1] < -0.1 / 26


@pytest.mark.parametrize("seed", range(20))
def test_a_row_that_shows_that_the_point_is_no_answer_is_right(seed):
    """Where the most violated row alone decides, the residual of all rows says the same."""
    random = np.random.default_rng(seed)
    w, length = random.normal(size=4), random.choice([0.0, 0.3, 3.0], 6)
    G = random.normal(size=(6, 4))
    K = jo.convex.Polyhedron(G, random.choice([0.0, 1e-16, 1e-3, 1.0]) * random.normal(size=6) - G @ w, length=length)
    slack, solver, M = K.slack(w), jo.GaussSeidel(tol=1e-3, max_iterations=100, budget=True), metric(1.0, (4,))
    outside = solver._is_outside(w, K, slack)
    start = solver._start(w, w, K, M, slack)
    assert not (outside and start.converged)
    if (length > 0.0).all() and slack.min() < -1e-2:
        assert outside == (not start.converged)


def test_an_overlap_is_for_budgets_only():
    with pytest.raises(jo.InvalidValue, match="with budget=True only"):
        jo.GaussSeidel(overlap=1e-3)
