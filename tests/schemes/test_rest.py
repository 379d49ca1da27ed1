"""What rests stays at rest: at every tolerance and time step, with speeds of the order tol g h."""

import numpy as np
import pytest

import jostle as jo

G, R, STEPS = 9.0, 0.3, 60
FLOOR = jo.HalfSpace([0.0, 1.0])
SCHEMES = [jo.Maury, jo.MoreauJean]
FRICTION = [pytest.param(None, id="no friction"), pytest.param(jo.Coulomb(0.6), id="friction")]


def tower(n):
    """Discs above each other between two walls."""
    q0 = np.stack([np.zeros(n), R + 2.0 * R * np.arange(n)], axis=1)
    return q0, FLOOR & jo.HalfSpace([1.0, 0.0], -R) & jo.HalfSpace([-1.0, 0.0], -R)


def hexagons(rows):
    """Discs in a hexagonal pack that fills a box."""
    q0 = [((c + 0.5 * (r % 2) + 0.5) * 2 * R, R + r * np.sqrt(3.0) * R) for r in range(rows) for c in range(5 - r % 2)]
    return np.array(q0), jo.Box([0.0, 0.0], [10.0 * R, np.inf])


def alone():
    return np.array([[0.0, R]]), FLOOR


def in_a_corner():
    return np.array([[R, R]]), FLOOR & jo.HalfSpace([1.0, 0.0])


def spheres():
    """Four spheres in a square, and one in the hollow between them."""
    square = R * np.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [1.0, 3.0, 1.0], [3.0, 3.0, 1.0]])
    top = [[2.0 * R, 2.0 * R, R * (1.0 + np.sqrt(2.0))]]
    return np.concatenate([square, top]), jo.Box([0.0, 0.0, 0.0], [4.0 * R, 4.0 * R, np.inf])


PACKS = [alone, in_a_corner, lambda: tower(20), lambda: hexagons(4), spheres]


def rested(pack, scheme, h, law=None, steps=STEPS):
    """The largest speed over g h, and the longest way over R, in a run from rest."""
    q0, walls = pack()
    weight = np.zeros(q0.shape[1])
    weight[-1] = -G
    bodies = jo.Motion(
        q0=q0, force=weight, within=jo.Balls([R] * len(q0)) & walls, **({} if law is None else {"law": law})
    )
    sol = jo.solve(bodies, scheme, t=steps * h, h=h)
    return np.abs(sol.u[1:]).max() / (G * h), np.abs(sol.q - q0).max() / R, sol


@pytest.mark.each_value
@pytest.mark.parametrize("pack", PACKS, ids=["disc", "corner", "tower", "hexagons", "spheres"])
@pytest.mark.parametrize("law", FRICTION)
@pytest.mark.parametrize("tol", [1e-2, 3e-4, 1e-6])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_rests_stays_at_rest_for_each_step_and_tolerance(scheme, tol, law, pack):
    for h in (2e-2, 1e-3, 1e-4):
        speed, moved, _ = rested(pack, scheme(solver=jo.GaussSeidel(tol=tol)), h, law)
        bodies = len(pack()[0])  # each contact of a tower adds its part
        aimed = law is not None and tol > 1e-5  # the first sweeps aim at less than is allowed
        assert speed < tol * (6.0 if aimed else 15.0 * max(bodies, 5))
        assert moved < tol * (0.1 if aimed else max(2.0, bodies / 4.0))


@pytest.mark.parametrize("solver", [jo.ActiveSet, jo.InteriorPoint, jo.GaussSeidel, jo.Automatic])
@pytest.mark.parametrize("scheme", [*SCHEMES, jo.Gluey, jo.Paoli])
def test_what_rests_stays_at_rest_with_each_solver(scheme, solver):
    for tol in (1e-2, 1e-8):
        speed, moved, _ = rested(lambda: hexagons(3), scheme(solver=solver(tol=tol)), 1e-3)
        assert speed < 10.0 * tol
        assert moved < tol


@pytest.mark.each_value
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("discs", "tol"), [(3, 1e-2), (5, 1e-3)])
@pytest.mark.parametrize(("radius", "h"), [(0.5, 5e-3), (5e-4, 2e-2)])
def test_a_stack_with_friction_does_not_jolt_or_sink_however_long_it_stands(scheme, discs, tol, radius, h):
    """Gaps that solvers leave do not grow until a contact opens, also where a body falls by its radius in a step."""
    q0 = np.stack([np.zeros(discs), radius + 2.0 * radius * np.arange(discs)], axis=1)
    stack = jo.Motion(q0=q0, force=[0.0, -G], within=jo.Balls([radius] * discs) & FLOOR, law=jo.Coulomb(0.5))
    sol = jo.solve(stack, scheme(solver=jo.GaussSeidel(tol=tol)), t=300 * h, h=h)
    assert np.abs(sol.u[1:]).max() < 10.0 * tol * G * h
    assert np.abs(sol.q - q0).max() < 10.0 * (radius + G * h * h) * tol


@pytest.mark.parametrize("law", [jo.Coulomb(0.5), jo.Restitution(0.0)], ids=["friction", "no friction"])
def test_steps_in_which_grains_that_come_to_rest_sink_into_each_other_have_a_warning(law):
    radius, h = 5e-4, 5e-3
    q0 = np.array([[0.0, 1.1 * radius], [0.0, 3.2 * radius]])
    grains = jo.Motion(q0=q0, force=[0.0, -G], within=jo.Balls([radius] * 2) & FLOOR, law=law)
    with pytest.warns(jo.errors.LongStep, match="sinks by up to 0.45 of the smallest radius.*below 0.00075"):
        sol = jo.solve(grains, jo.MoreauJean(), t=20 * h, h=h)
    assert 0.2 < sol.overlap < 0.9
    assert jo.solve(grains, jo.MoreauJean(), t=0.05, h=7e-4).overlap < 0.05


def test_resting_at_a_loose_tolerance_is_cheap():
    _, _, sol = rested(lambda: hexagons(5), jo.Maury(solver=jo.GaussSeidel(tol=1e-3)), 2e-4, steps=100)
    assert sol.stats["iterations"].mean() <= 20


@pytest.mark.each_value
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("h", [5e-3, 1e-3])
def test_a_dumbbell_sticks_on_a_slope_that_holds_it_and_a_disc_rolls(scheme, h):
    a, t, tol = 0.35, 0.3, 1e-3
    pull, loose = [G * np.sin(a), -G * np.cos(a)], scheme(solver=jo.Automatic(tol=tol))
    dumbbell = jo.Clumps([(np.array([[-2.0 * R, 0.0], [2.0 * R, 0.0]]), R)])
    held = jo.Motion(q0=[[0.0, R]], force=pull, law=jo.Coulomb(1.1 * np.tan(a)), within=dumbbell & FLOOR)
    assert np.abs(jo.solve(held, loose, t=t, h=h).q[-1] - [[0.0, R]]).max() < 1e-6
    disc = jo.Motion(q0=[[0.0, R]], force=pull, law=jo.Coulomb(0.7), within=jo.Balls([R]) & FLOOR)
    assert jo.solve(disc, loose, t=t, h=h).u[-1, 0, 0] == pytest.approx(2.0 / 3.0 * G * np.sin(a) * t, rel=1e-6)


def heap(mu, h, tol):
    """Discs that fall into a box, as the arguments of a problem, and what they do there."""
    random, n = np.random.default_rng(7), 40
    radii = random.uniform(0.18, 0.25, n)
    at = np.array([[0.3 + 0.56 * (k % 7) + random.uniform(-0.02, 0.02), 0.3 + 0.56 * (k // 7)] for k in range(n)])
    discs = {
        "mass": radii**2,
        "force": np.outer(radii**2, [0.0, -9.81]),
        "within": jo.Balls(radii) & jo.Box([0.0, 0.0], [4.1, np.inf]),
        "law": jo.Coulomb(mu) if mu else jo.Restitution(0.0),
    }
    return discs, jo.solve(jo.Motion(q0=at, **discs), jo.Maury(solver=jo.GaussSeidel(tol=tol)), t=1.0, h=h)


@pytest.mark.parametrize("mu", [0.0, 0.4])
def test_discs_that_fall_into_a_box_gain_no_energy_at_a_loose_tolerance(mu):
    discs, sol = heap(mu, 2e-3, 1e-3)
    total = sol.energy().total
    assert np.diff(total).max() < 1e-6 * total[0]
    radius, deepest = discs["within"].sets[0].radii.min(), -sol.gaps().min()
    assert deepest < (1e-3 + 1e-4) * radius
    assert max(deepest, 1e-9 * radius) <= 1.001 * max(sol.overlap, 1e-9) * radius


def test_the_end_of_a_run_with_friction_is_a_start_at_any_tolerance():
    discs, loose = heap(0.4, 5e-3, 1e-3)
    again = jo.Motion(q0=loose.q[-1], v0=loose.u[-1], spin0=loose.spin[-1], **discs)
    for tol in (1e-3, 1e-6):
        assert jo.solve(again, jo.Maury(solver=jo.Automatic(tol=tol)), t=0.05, h=5e-3).status == "finished"


@pytest.mark.parametrize("speed", [0.005, 0.05, 0.5])
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_a_piston_is_followed_at_once_however_slow(mu, speed):
    """Gaps that are left over count as closed, the motion of a wall never does."""
    n, law = 12, {"law": jo.Coulomb(mu)} if mu else {}
    q0 = np.stack([R + 2.0 * R * np.arange(n), np.full(n, R)], axis=1)
    piston = jo.HalfSpace([1.0, 0.0], offset=lambda t: speed * t)
    row = jo.Motion(q0=q0, force=[0.0, -G], within=jo.Balls([R] * n) & FLOOR & piston, **law)
    sol = jo.solve(row, jo.Maury(solver=jo.Automatic(tol=1e-5)), t=0.5, h=5e-3)
    assert sol.q[-1, 0, 0] == pytest.approx(R + 0.5 * speed, abs=2e-4 * R)
    assert sol.gaps().min() > -1.2e-4 * R


@pytest.mark.parametrize("wrong", [-1e-9, 0.2, np.nan])
def test_a_gap_tol_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(jo.InvalidValue, match=r"gap_tol is a fraction of the radius, from 0 to 0\.1"):
        jo.Maury(gap_tol=wrong)
