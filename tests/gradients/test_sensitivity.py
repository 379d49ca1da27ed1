"""Derivatives of runs: against differences of the same run, exact ones, weak contacts, checkpoints, refusals."""

import inspect

import numpy as np
import pytest

import jostle as jo
from jostle.errors import WeakContacts
from rows import whole

pytestmark = pytest.mark.filterwarnings("ignore::jostle.errors.RoundedEvents")  # differences are of the same run

SOLVER = jo.Automatic(tol=1e-12)
EPS = 1e-6
NAMES = ("q0", "v0", "mass", "radii", "theta")


# Scenes: a function of the data that makes a problem, the data, a scheme, the end and the time step.


def balls(rng):
    n, d = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    q0 = np.stack(np.unravel_index(np.arange(n), (3,) * d), axis=1) + rng.uniform(-0.1, 0.1, (n, d))
    v0 = rng.uniform(0.5, 1.5, (n, 1)) * (q0.mean(axis=0) - q0) + 0.3 * rng.normal(size=(n, d))

    def make(q0, v0, mass, radii, theta):
        force = lambda t, q, u: -theta[0] * np.sin(q - 1.0) - theta[1] * u  # noqa: E731
        return jo.Motion(q0=q0, v0=v0, mass=mass, force=force, within=jo.Balls(radii))

    data = q0, v0, rng.uniform(0.5, 2.0, n), rng.uniform(0.2, 0.4, n), np.array([rng.uniform(1.0, 3.0), 0.1])
    return make, data, jo.Maury(solver=SOLVER), 0.6, 0.03


def walls(rng):
    n = int(rng.integers(1, 5))
    q0 = np.stack([0.8 * np.arange(n), 1.2 + rng.uniform(0.0, 0.3, n)], axis=1)

    def make(q0, v0, mass, radii, theta):
        floor = jo.HalfSpace([theta[1], 1.0], theta[0])
        within = jo.Balls(radii) & floor & jo.Outside([1.2, -0.2], 0.7) & jo.Box([-1.0, -np.inf], [3.5, np.inf])
        return jo.Motion(q0=q0, v0=v0, mass=mass, force=[0.3, -9.0], within=within)

    theta = np.array([-0.3, rng.uniform(-0.2, 0.2)])
    data = q0, 0.5 * rng.normal(size=(n, 2)), rng.uniform(0.5, 2.0, n), rng.uniform(0.2, 0.3, n), theta
    return make, data, jo.Maury(solver=SOLVER), 0.7, 0.035


def rods(rng):
    """A chain that hangs from a point beside a wall; theta is the gravity and the angles at the start."""
    n = int(rng.integers(2, 5))
    L, angles = rng.uniform(0.5, 1.0, n), rng.uniform(-1.2, 1.2, n)

    def place(angles):
        return np.cumsum(L[:, None] * np.stack([np.sin(angles), -np.cos(angles)], axis=1), axis=0)

    wall = float(place(angles)[:, 0].min()) - 0.2
    chain = [(0, -1), *((k, k + 1) for k in range(n - 1))]

    def make(q0, v0, mass, radii, theta):
        within = jo.Rods(chain, L, points=[[0.0, 0.0]]) & jo.HalfSpace([1.0, 0.0], wall, radii=radii)
        return jo.Motion(q0=place(theta[1:]), v0=v0, mass=mass, force=[0.0, -theta[0]], within=within)

    data = None, np.zeros((n, 2)), rng.uniform(0.5, 2.0, n), np.full(n, 0.1), np.append(9.81, angles)
    return make, data, jo.Maury(solver=SOLVER), 0.4, 0.02


def crowds(rng):
    """People who want to go through a door; theta is their speed and the place that they go to."""
    n = int(rng.integers(3, 8))
    q0 = 0.6 * np.stack(np.unravel_index(np.arange(n), (3, 3)), axis=1) + rng.uniform(-0.05, 0.05, (n, 2)) + 0.4
    room = jo.Polygons([[(3, -1), (3.2, -1), (3.2, 0.65), (3, 0.65)], [(3, 1.35), (3.2, 1.35), (3.2, 3), (3, 3)]])

    def make(q0, v0, mass, radii, theta):
        def wish(t, q):
            way = np.array([theta[1], 1.0]) - q
            return theta[0] * way / np.sqrt((way**2).sum(axis=1, keepdims=True) + 0.01)

        return jo.Sweeping(q0=q0, velocity=wish, mass=mass, within=jo.Balls(radii) & room)

    data = q0, None, rng.uniform(0.5, 2.0, n), rng.uniform(0.2, 0.25, n), np.array([rng.uniform(0.9, 1.1), 4.0])
    scheme = (jo.Venel, jo.CatchingUp)[int(rng.integers(2))](solver=SOLVER)
    return make, data, scheme, 2.0, 0.1


def moving(rng):
    """Balls that grow in a box that moves."""
    n, kind = int(rng.integers(1, 4)), int(rng.integers(3))
    q0 = rng.uniform(-0.3, 0.3, (n, 2)) + np.arange(n)[:, None] * [0.75, 0.0]

    def make(q0, v0, mass, radii, theta):
        a, b = theta
        box = jo.Box(lambda t: [-0.8 + a * np.sin(t), -0.8 + b * t], lambda t: [2.4 + a * np.sin(t), 1.0 + b * t])
        within = jo.Balls(lambda t: radii + 0.1 * t) & box
        if kind == 0:
            return jo.Motion(q0=q0, v0=v0, mass=mass, force=[0.0, -1.0], within=within)
        return jo.Sweeping(q0=q0, velocity=lambda t, q: -0.3 * q, mass=mass, within=within)

    v0 = 0.3 * rng.normal(size=(n, 2)) if kind == 0 else None
    theta = np.array([rng.uniform(0.5, 1.5), rng.uniform(0.5, 1.0)])
    scheme = (jo.Maury, jo.Venel, jo.CatchingUp)[kind](solver=SOLVER)
    return make, (q0, v0, rng.uniform(0.5, 2.0, n), rng.uniform(0.1, 0.15, n), theta), scheme, 1.0, 0.05


def followed(problem, scheme, T, h):
    """The end of a run, and the pairs that push in each of its steps."""
    state, pushing = scheme.start(problem, 0.0), []
    for k in range(round(T / h)):
        state = scheme.advance(problem, state, h, (k + 1) * h)
        pushing.append(state.contacts.pairs[state.multipliers != 0.0].tolist())
    return np.stack([state.q, state.u]), pushing


def away_from_weak_contacts(scene, seed):
    """The next random scene in which the same pairs push if all data change a little: differences exist there."""
    while True:
        rng = np.random.default_rng(seed)
        make, data, scheme, T, h = scene(rng)
        way = [None if one is None else rng.normal(size=one.shape) for one in data]
        try:
            (ahead, pushed), (behind, also) = (
                followed(
                    make(*(a if w is None else a + size * w for a, w in zip(data, way, strict=True))), scheme, T, h
                )
                for size in (EPS, -EPS)
            )
        except jo.InfeasibleStart:
            pushed, also = 0, 1
        if pushed == also:
            return make, data, scheme, T, h, way, (ahead - behind) / (2.0 * EPS), pushed
        seed += 1000


@pytest.mark.parametrize("seed", [0, *map(whole, range(1, 20))])
@pytest.mark.parametrize("scene", [balls, walls, rods, crowds, moving])
def test_products_are_those_of_differences_of_the_same_run_and_adjoint_to_each_other(scene, seed):
    make, data, scheme, T, h, way, expected, _ = away_from_weak_contacts(scene, seed)
    run = jo.sensitivity(lambda theta: make(*data[:4], theta), scheme, t=T, h=h, theta=data[4])
    assert run.weak == ()
    changes = {name: one for name, one in zip(NAMES, way, strict=True) if one is not None}
    found = np.stack(run.forward(**changes))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6 * np.abs(one).max())
    weights = np.random.default_rng(seed).normal(size=found.shape)
    back = run.reverse(q=weights[0], u=weights[1])
    sums = [np.sum(getattr(back, name) * one) for name, one in changes.items()]
    accuracy = 1e-12 if scene is walls else 1e-9  # walls alone have no force, velocity or curvature by differences
    size = np.abs(weights * found).sum() + np.abs(sums).sum()
    assert abs(np.sum(weights * found) - sum(sums)) <= accuracy * size


@pytest.mark.whole
def test_most_random_scenes_have_contacts_that_push():
    for scene in (balls, walls, rods, crowds, moving):
        pushed = [any(away_from_weak_contacts(scene, seed)[-1]) for seed in range(5)]
        assert sum(pushed) >= 4, scene.__name__


def test_a_point_that_falls_on_a_circle_has_the_exact_derivative_to_first_order():
    point = jo.Motion(q0=[0.3, 3.0], force=[0.0, -10.0], within=jo.Outside([0.0, 0.0], 2.0))
    exact = np.array([[2.92422838, -1.64287622], [-0.23778178, 0.13358944]])
    errors = []
    for h in (4e-3, 1e-3):
        run = jo.sensitivity(point, jo.Maury(), t=1.0, h=h)
        errors.append(np.abs(np.stack([run.forward(q0=e)[0] for e in np.eye(2)]) - exact).max())
        assert run.weak == ()
    assert errors[1] < 4e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


def test_the_derivative_of_a_sweeping_point_is_one_before_it_is_pushed_and_zero_after():
    """G12."""
    play = jo.Sweeping(q0=[0.03], within=jo.Box(lambda t: t - 0.5, lambda t: t + 0.5))
    for scheme in (jo.Venel(), jo.CatchingUp()):
        free, pushed = (jo.sensitivity(play, scheme, t=t, h=0.1) for t in (0.4, 0.8))
        assert free.reverse(q=[1.0]).q0.item() == 1.0
        assert abs(pushed.reverse(q=[1.0]).q0.item()) < 1e-15


def test_bodies_on_a_line_go_on_together_with_their_mean_velocity():
    """G07 in a run: du_i / dv0_j = m_j / M."""
    mass = np.array([1.0, 2.0, 5.0])
    line = jo.Motion(q0=[0.0, 1.03, 2.11], v0=[3.0, 1.0, 0.0], mass=mass, within=jo.Line([0.4, 0.4, 0.4]))
    run = jo.sensitivity(line, jo.Maury(), t=2.0, h=0.05)
    assert run.weak == ()  # they touch and do not push, but no change opens them
    for weights in np.eye(3):
        np.testing.assert_allclose(run.reverse(u=weights).v0, mass / 8.0, atol=1e-14)


def test_constraints_and_gradients_of_the_user_are_differentiated():
    """The labyrinth's holes, by differences of differences and by a given gradient; Vessel has neither bend."""
    holes = np.array([[1.5, 1.0], [2.6, 1.6]])

    def gap(t, q):
        return np.concatenate([np.linalg.norm(q - holes, axis=1) - 0.5, q])

    def slope(t, q):
        way = q - holes
        return np.concatenate([way / np.linalg.norm(way, axis=1, keepdims=True), np.eye(2)])

    for board, accuracy in ((jo.constraints(gap), 1e-5), (jo.constraints(gap, gradient=slope), 1e-6)):

        def make(q0, board=board):
            return jo.Sweeping(q0=q0, velocity=lambda t, q: [1.0, 0.3 * np.cos(q[0])], within=board)

        q0, way = np.array([0.5, 0.6]), np.array([0.3, 1.0])
        run = jo.sensitivity(make(q0), jo.Venel(solver=SOLVER), t=2.0, h=0.02)
        ends = [jo.solve(make(q0 + size * way), jo.Venel(solver=SOLVER), t=2.0, h=0.02).q[-1] for size in (1e-5, -1e-5)]
        found, expected = run.forward(q0=way)[0], (ends[0] - ends[1]) / 2e-5
        np.testing.assert_allclose(found, expected, atol=accuracy * np.abs(expected).max())
        assert run.differenced[0] == "velocity"
        assert len(run.differenced) == 2
        weights = np.array([0.7, -0.4])
        assert run.reverse(q=weights).q0 @ way == pytest.approx(weights @ found, rel=1e-5)


def test_given_derivatives_of_a_force_take_the_place_of_differences():
    def force(t, q, u):
        return -np.sin(q) - 0.1 * u**3

    def vjp(t, q, u, y):
        return -np.cos(q) * y, -0.3 * u**2 * y

    def jvp(t, q, u, dq, du):
        return -np.cos(q) * dq - 0.3 * u**2 * du

    def run(force):
        ball = jo.Motion(q0=[[1.0, 0.4], [0.0, 2.0]], v0=[1.0, -1.0], force=force, within=jo.Balls([0.3, 0.3]))
        return jo.sensitivity(ball, jo.Maury(), t=1.0, h=0.05)

    given, differenced = run(jo.gradients.with_vjp(force, vjp, jvp=jvp)), run(force)
    assert (given.differenced, differenced.differenced) == ((), ("force",))
    one, other = (each.reverse(q=[1.0, 2.0], u=[0.5, 0.0]) for each in (given, differenced))
    np.testing.assert_allclose(one.q0, other.q0, rtol=1e-8)
    np.testing.assert_allclose(one.v0, other.v0, rtol=1e-8)
    way = np.array([[0.3, 1.0], [0.2, -1.0]])
    np.testing.assert_allclose(given.forward(v0=way)[0], differenced.forward(v0=way)[0], rtol=1e-8)
    assert np.sum(given.forward(q0=way)[0] * [1.0, 2.0] + given.forward(q0=way)[1] * [0.5, 0.0]) == pytest.approx(
        np.sum(one.q0 * way), rel=1e-13
    )


def test_the_derivative_of_a_force_of_any_arguments_takes_the_velocity_as_the_force_does():
    drag = jo.gradients.with_vjp(lambda *state: -state[2], lambda t, q, u, y: (0.0 * q, -y))
    run = jo.sensitivity(jo.Motion(q0=[0.0], v0=[1.0], force=drag), jo.Maury(), t=0.1, h=0.1)
    assert [*run.u, *run.reverse(u=[1.0]).v0] == pytest.approx([0.9, 0.9])


def test_a_force_that_couples_bodies_is_differenced_one_coordinate_after_the_other():
    def pull(t, q):
        return q.mean(axis=0) - q

    def make(q0):
        return jo.Motion(q0=q0, force=pull, within=jo.Balls([0.1, 0.1, 0.1]))

    q0 = np.array([[0.0, 0.0], [2.0, 0.1], [0.3, 1.0]])
    run = jo.sensitivity(make(q0), jo.Maury(), t=0.5, h=0.1)
    way = np.random.default_rng(0).normal(size=(3, 2))
    assert np.sum(run.reverse(q=way).q0 * way) == pytest.approx(np.sum(run.forward(q0=way)[0] * way), rel=1e-9)
    many = np.stack([np.arange(300.0), np.zeros(300)], axis=1)
    far = jo.sensitivity(jo.Motion(q0=many, force=pull), jo.Maury(), t=0.1, h=0.1)
    with pytest.raises(jo.InvalidValue, match="with_vjp"):
        far.reverse(q=1.0)


def test_steps_that_are_run_again_between_checkpoints_give_the_same_bits():
    make, data, scheme, T, h, way, _, _ = away_from_weak_contacts(walls, 3)
    runs = [jo.sensitivity(make(*data), scheme, t=T, h=h, checkpoints=number) for number in (None, 1, 4, 100)]
    reverse = [run.reverse(q=way[0], u=way[1]) for run in runs]
    forward = [run.forward(q0=way[0], radii=way[3]) for run in runs]
    for one, other in zip(reverse[1:], forward[1:], strict=True):
        np.testing.assert_array_equal(one.q0, reverse[0].q0)
        np.testing.assert_array_equal(one.radii, reverse[0].radii)
        np.testing.assert_array_equal(other[0], forward[0][0])
    assert runs[1]._tape.kept is None
    assert (len(runs[1]._tape.starts), len(runs[2]._tape.starts)) == (1, 4)


def test_the_run_is_that_of_solve():
    make, data, scheme, T, h, *_ = away_from_weak_contacts(walls, 5)
    run, sol = jo.sensitivity(make(*data), scheme, t=T, h=h), jo.solve(make(*data), scheme, t=T, h=h)
    np.testing.assert_array_equal(run.q, sol.q[-1])
    np.testing.assert_array_equal(run.u, sol.u[-1])


def test_a_last_step_that_is_shorter_is_differentiated_too():
    make, data, scheme, _, h, way, _, _ = away_from_weak_contacts(rods, 1)
    run = jo.sensitivity(make(*data), scheme, t=0.31, h=h)
    ends = [jo.solve(make(*data[:1], data[1] + s * way[1], *data[2:]), scheme, t=0.31, h=h) for s in (EPS, -EPS)]
    found = run.forward(v0=way[1])[0]
    np.testing.assert_allclose(found, (ends[0].q[-1] - ends[1].q[-1]) / (2 * EPS), atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Venel(), jo.CatchingUp()])
def test_contacts_that_touch_and_do_not_push_are_reported(scheme):
    """A point that arrives at a wall exactly at the end of a step."""
    wall = jo.HalfSpace([1.0])
    motion = jo.Motion(q0=[0.5], v0=[-1.0], within=wall)
    problem = motion if isinstance(scheme, jo.Maury) else jo.Sweeping(q0=[0.5], velocity=[-1.0], within=wall)
    with pytest.warns(WeakContacts, match="body 0 and plane .* in step 4"):
        run = jo.sensitivity(problem, scheme, t=0.5, h=0.125)
    assert [(one.step, one.t) for one in run.weak] == [(4, 0.5)]
    assert run.weak[0].contacts == ("body 0 and plane with normal [1.0], at offset 0",)
    beside = jo.Motion(q0=[0.51], v0=[-1.0], within=wall)
    assert jo.sensitivity(beside, jo.Maury(), t=0.5, h=0.125).weak == ()


def test_balls_that_slide_along_a_wall_without_force_are_weak_and_pressed_ones_are_not():
    floor = jo.HalfSpace([0.0, 1.0], radii=0.5)
    with pytest.warns(WeakContacts, match="and in 3 more"):
        jo.sensitivity(jo.Motion(q0=[0.0, 0.5], v0=[1.0, 0.0], within=floor), jo.Maury(), t=0.4, h=0.1)
    pressed = jo.Motion(q0=[0.0, 0.5], v0=[1.0, 0.0], force=[0.0, -1.0], within=floor)
    run = jo.sensitivity(pressed, jo.Maury(), t=0.4, h=0.1)
    assert run.weak == ()
    assert run.reverse(q=[0.0, 1.0]).radii.item() == pytest.approx(1.0)


def test_a_contact_that_no_change_of_the_data_opens_is_not_weak_after_its_push():
    """The point was pressed against the wall before, and stays there at rest, whatever its radius."""
    wall = jo.HalfSpace([1.0], radii=0.5)
    stops = jo.Sweeping(q0=[0.75], velocity=lambda t, q: -np.ones_like(q) if t < 0.35 else 0.0 * q, within=wall)
    run = jo.sensitivity(stops, jo.CatchingUp(), t=0.6, h=0.1)
    assert run.weak == ()
    assert run.reverse(q=[1.0]).radii.item() == pytest.approx(1.0)


def test_contacts_that_depend_on_each_other_are_reported_where_the_derivative_is_not_unique():
    """A disc in a corner, and a third wall through the same place: a larger radius pushes them differently."""
    corner = jo.Box([0.0, 0.0], [9.0, 9.0], radii=1.0)
    disc = {"q0": [[1.0, 1.0]], "force": [-1.0, -1.0]}
    assert jo.sensitivity(jo.Motion(within=corner, **disc), jo.Maury(), t=0.2, h=0.1).dependent == ()
    third = jo.HalfSpace([1.0, 1.0], 2.0 - 2.0**0.5, radii=1.0)
    with pytest.warns(WeakContacts, match=r"depend on each other in step 1 \(and in 1 more\)"):
        run = jo.sensitivity(jo.Motion(within=corner & third, **disc), jo.Maury(), t=0.2, h=0.1)
    assert run.dependent == (1, 2)
    np.testing.assert_allclose(run.reverse(u=[[1.0, 1.0]]).v0, 0.0, atol=1e-14)
    points = jo.Motion(
        q0=[[0.0, 0.0]], force=[-1.0, -1.0], within=jo.Box(0.0 * np.ones(2), [9.0, 9.0]) & jo.HalfSpace([1.0, 1.0])
    )
    assert jo.sensitivity(points, jo.Maury(), t=0.2, h=0.1).dependent == ()  # no choice of multipliers matters


def test_masses_and_radii_in_theta_have_the_derivatives_of_masses_and_radii():
    def pair(theta):
        within = jo.Balls(theta[2:])
        return jo.Motion(q0=[[0.0], [0.973]], v0=[[1.0], [0.0]], force=[1.0], mass=theta[:2], within=within)

    theta = np.array([1.0, 2.5, 0.2, 0.15])
    run, plain = (
        jo.sensitivity(one, jo.Maury(), t=1.2, h=0.05, **more)
        for one, more in ((pair, {"theta": theta}), (pair(theta), {}))
    )
    found, expected = (each.reverse(q=[[1.0], [2.0]], u=[[0.3], [0.0]]) for each in (run, plain))
    np.testing.assert_allclose(found.theta, [*expected.mass, *expected.radii], rtol=1e-8, atol=1e-9)
    assert np.abs(found.theta).min() > 1e-3
    dq, _ = run.forward(theta=[1.0, 0.0, 0.0, 2.0])
    np.testing.assert_allclose(dq, plain.forward(mass=[1.0, 0.0], radii=[0.0, 2.0])[0], rtol=1e-8, atol=1e-9)


def test_places_and_velocities_at_the_start_may_depend_on_theta():
    def thrown(theta):
        return jo.Motion(q0=[theta[0]], v0=[theta[0] ** 2])

    run = jo.sensitivity(thrown, jo.Maury(), t=0.5, h=0.1, theta=[3.0])
    assert np.concatenate(run.forward(theta=[1.0])) == pytest.approx([1.0 + 0.5 * 6.0, 6.0], rel=1e-6)
    assert run.reverse(q=[1.0], u=[2.0]).theta == pytest.approx([4.0 + 2.0 * 6.0], rel=1e-6)


def test_masses_have_the_shape_in_which_they_are_given():
    def shapes(q0, mass, **more):
        back = jo.sensitivity(jo.Motion(q0=q0, mass=mass, force=np.ones_like(q0), **more), jo.Maury(), t=0.1, h=0.1)
        found = back.reverse(q=1.0)
        return found.mass.shape, None if found.radii is None else found.radii.shape

    two = np.array([[0.0, 0.0], [3.0, 0.0]])
    assert shapes(two, 1.0, within=jo.Balls([1.0, 1.0])) == ((2,), (2,))
    assert shapes(two, [[1.0, 2.0], [3.0, 4.0]]) == ((2, 2), None)
    assert shapes(two[0], 2.0, within=jo.HalfSpace([1.0, 0.0], -9.0, radii=1.0)) == ((), ())
    assert shapes(two[0], [[2.0, 1.0], [1.0, 2.0]]) == ((2, 2), None)
    matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    run = jo.sensitivity(jo.Motion(q0=two[0], mass=matrix, force=[1.0, 2.0]), jo.Maury(), t=0.3, h=0.1)
    change = np.array([[0.2, -0.1], [-0.1, 0.5]])
    found, exact = run.forward(mass=change)[1], -0.3 * np.linalg.solve(matrix, change @ np.linalg.solve(matrix, [1, 2]))
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    assert np.sum(run.reverse(u=[1.0, 2.0]).mass * change) == pytest.approx(exact @ [1.0, 2.0], rel=1e-12)


def test_schemes_whose_derivatives_do_not_converge_are_refused_with_the_reason_and_the_remedy():
    ball = jo.Motion(q0=[1.0], force=[-9.81], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.8))
    dead = jo.Motion(q0=[1.0], force=[-9.81], within=jo.HalfSpace([1.0]))
    for scheme in (jo.Paoli(), jo.MoreauJean()):
        with pytest.raises(jo.errors.SchemeRefuses, match=r"\+1.0 and Paoli -0.8 instead of \+0.19.*by_events"):
            jo.sensitivity(ball, scheme, t=0.7, h=0.01)
        with pytest.raises(jo.errors.SchemeRefuses, match="use Maury"):
            jo.sensitivity(dead, scheme, t=0.7, h=0.01)
    with pytest.raises(jo.errors.SchemeRefuses, match="Maury is a scheme for e = 0"):
        jo.sensitivity(ball, jo.Maury(), t=0.7, h=0.01)
    with pytest.raises(jo.errors.SchemeRefuses, match="Gluey has no derivative"):
        jo.sensitivity(dead, jo.Gluey(), t=0.7, h=0.01)


def test_MoreauJean_with_e_0_is_wrong_for_all_steps_and_Paoli_is_right():
    """A ball that fell on a floor stays there; differences of the run at the same steps of impact."""
    for h in (0.01, 0.0011):
        for scheme, slope in ((jo.MoreauJean(), 1.0), (jo.Paoli(), 0.0), (jo.Maury(), 0.0)):
            ends = [
                jo.solve(jo.Motion(q0=[y], force=[-9.81], within=jo.HalfSpace([1.0])), scheme, t=0.7, h=h).q[-1, 0]
                for y in (1.03 + 1e-8, 1.03 - 1e-8)
            ]
            assert (ends[0] - ends[1]) / 2e-8 == pytest.approx(slope, abs=1e-5)


def test_problems_without_derivatives_are_refused_by_name():
    floor = jo.HalfSpace([0.0, 1.0], radii=0.5)
    cases = {
        "bodies that turn": jo.Motion(q0=[[0.0, 1.0]], within=floor, law=jo.Coulomb(0.5)),
        "a StiffForce": jo.Motion(q0=[[0.0, 1.0]], within=floor, force=jo.StiffForce(lambda t, q: -q, stiffness=1.0)),
        "come and go": jo.Motion(q0=[[0.0, 1.0]], within=jo.Balls([0.5]), present=[True]),
    }
    for words, problem in cases.items():
        with pytest.raises(jo.errors.SchemeRefuses, match=words):
            jo.sensitivity(problem, jo.Maury(), t=0.1, h=0.1)
    with pytest.raises(jo.InvalidValue, match="fixed number of iterations"):
        jo.sensitivity(jo.Motion(q0=[1.0]), jo.Maury(solver=jo.GaussSeidel(budget=True)), t=0.1, h=0.1)
    with pytest.raises(jo.InvalidValue, match="has tol = 1e-06"):
        jo.sensitivity(jo.Motion(q0=[1.0]), jo.Maury(solver=jo.Automatic(tol=1e-6)), t=0.1, h=0.1)
    with pytest.raises(jo.InvalidValue, match="give theta="):
        jo.sensitivity(lambda theta: jo.Motion(q0=theta), jo.Maury(), t=0.1, h=0.1)
    with pytest.raises(jo.InvalidValue, match="function theta -> problem"):
        jo.sensitivity(jo.Motion(q0=[1.0]), jo.Maury(), t=0.1, h=0.1, theta=[1.0])
    with pytest.raises(jo.InvalidValue, match="must return a"):
        jo.sensitivity(lambda theta: 3, jo.Maury(), t=0.1, h=0.1, theta=[1.0])
    run = jo.sensitivity(jo.Motion(q0=[1.0]), jo.Maury(), t=0.1, h=0.1)
    with pytest.raises(jo.InvalidValue, match="points"):
        run.forward(radii=1.0)
    with pytest.raises(jo.InvalidValue, match="no theta"):
        run.forward(theta=1.0)


def test_the_interface_has_no_list_of_what_to_differentiate():
    assert set(inspect.signature(jo.sensitivity).parameters) == {"problem", "scheme", "t", "h", "theta", "checkpoints"}


def test_a_run_of_many_bodies_has_adjoint_products_also_if_its_steps_do_not_fit_into_memory(monkeypatch):
    """Conjugate gradients instead of dense factors, and steps that are run again from stored states."""
    rng, side = np.random.default_rng(0), 14
    q0 = 2.01 * np.stack(np.unravel_index(np.arange(side**2), (side, side)), axis=1) + 1.02
    v0 = 3.0 * rng.normal(size=q0.shape)
    within = jo.Balls(rng.uniform(0.9, 1.0, side**2)) & jo.Box([0.0, 0.0], [29.0, np.inf])
    heap = jo.Motion(q0=q0, v0=v0, force=[0.0, -10.0], within=within)
    run = jo.sensitivity(heap, jo.Maury(), t=0.2, h=0.02)
    assert max(len(step.active) for step in run._tape.kept) > 64
    last = run._tape.kept[-1]
    slack = last.contacts.gap / 0.02 + (last.contacts.G @ run.u.ravel())
    assert np.abs(slack[last.active]).max() < 1e-12  # projections are exact, whatever the tolerance of the solver
    ways, weights = rng.normal(size=(2, *q0.shape)), rng.normal(size=(2, *q0.shape))
    dq, du = run.forward(q0=ways[0], v0=ways[1], radii=ways[0, :, 0], mass=ways[1, :, 0])
    back = run.reverse(q=weights[0], u=weights[1])
    sums = [np.sum(back.q0 * ways[0]), np.sum(back.v0 * ways[1])]
    sums += [back.radii @ ways[0, :, 0], back.mass @ ways[1, :, 0]]
    found = np.sum(weights * [dq, du])
    assert abs(found - sum(sums)) <= 1e-9 * np.abs(weights * [dq, du]).sum()
    monkeypatch.setattr("jostle.gradients.runs.MAX_KEPT_BYTES", 10**5)
    again = jo.sensitivity(heap, jo.Maury(), t=0.2, h=0.02)
    assert again._tape.kept is None
    np.testing.assert_array_equal(again.reverse(q=weights[0], u=weights[1]).q0, back.q0)


def test_forces_are_differenced_also_where_bodies_are_almost_at_rest_or_near_the_origin():
    """Steps relative to a velocity or place that is round-off lose all digits beside a weight."""
    ball = jo.Motion(q0=[1.0], v0=[1e-14], force=lambda t, q, u: 9.81 - 9.81 * q - 0.5 * u)
    run, step = jo.sensitivity(ball, jo.Maury(), t=0.1, h=0.05), np.array([[1.0 - 0.05**2 * 9.81, 0.04875], [0, 0]])
    step[1] = -0.05 * 9.81, 1.0 - 0.05 * 0.5
    exact = step @ step
    np.testing.assert_allclose(np.ravel(run.forward(q0=[1.0])), exact[:, 0], atol=1e-8)
    np.testing.assert_allclose(np.ravel(run.forward(v0=[1.0])), exact[:, 1], atol=1e-8)
    assert run.reverse(q=[1.0]).v0.item() == pytest.approx(exact[0, 1], abs=1e-8)
    point = jo.Sweeping(q0=[1e-13], velocity=lambda t, q: 1.0 - 2.0 * q)
    assert jo.sensitivity(point, jo.Venel(), t=0.1, h=0.1).forward(q0=[1.0])[0].item() == pytest.approx(0.8, abs=1e-8)


def test_a_force_that_depends_on_a_difference_of_coordinates_of_another_body_couples_them():
    def force(t, q):
        return [[q[1, 0] - q[1, 1], 0.0], [0.0, 0.0]]

    run = jo.sensitivity(jo.Motion(q0=[[0.0, 0.5], [1.0, 1.5]], force=force), jo.Maury(), t=0.1, h=0.1)
    np.testing.assert_allclose(run.reverse(q=[[1.0, 0.0], [0.0, 0.0]]).q0, [[1.0, 0.0], [0.01, -0.01]], atol=1e-9)


def test_shorter_steps_on_walls_that_move_are_differentiated_with_respect_to_theta():
    """After a longer step an overlap at the time before the step counts less, but not the way of the wall."""

    def make(theta):
        floor = jo.HalfSpace([0.1, 1.0], lambda t: theta[0] * np.sin(5.0 * t))
        return jo.Motion(q0=[0.0, 0.1], force=[0.0, -9.81], within=floor)

    span, h = (1.3, 2.3), 0.013
    run = jo.sensitivity(make, jo.Maury(), t=span, h=h, theta=[0.05])
    ends = [jo.solve(make([theta]), jo.Maury(), t=span, h=h) for theta in (0.05 + 1e-6, 0.05 - 1e-6)]
    expected = [(ends[0].q[-1] - ends[1].q[-1]) / 2e-6, (ends[0].u[-1] - ends[1].u[-1]) / 2e-6]
    np.testing.assert_allclose(run.forward(theta=[1.0]), expected, atol=1e-6)


def test_one_body_at_the_second_of_two_curved_walls_is_differentiated():
    walls = jo.Outside([-5.0, 0.0], 1.0) & jo.Outside([0.0, 0.0], 1.0)
    point = jo.Motion(q0=[0.3, 1.1], force=[0.0, -9.81], within=walls)
    alone = jo.Motion(q0=[0.3, 1.1], force=[0.0, -9.81], within=jo.Outside([0.0, 0.0], 1.0))
    one, other = (jo.sensitivity(each, jo.Maury(), t=0.4, h=0.02).reverse(q=[1.0, 0.0]).q0 for each in (point, alone))
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_changes_of_a_wrong_shape_are_refused_in_words_and_those_of_a_matrix_are_symmetric():
    ball = jo.Motion(q0=[[0.0, 1.0]], within=jo.HalfSpace([0.0, 1.0], radii=0.1))
    for run in (jo.sensitivity(ball, jo.Maury(), t=0.2, h=0.1), jo.sensitivity_by_events(ball, t=0.2)):
        for product, name in ((run.forward, "q0"), (run.forward, "radii"), (run.reverse, "u")):
            with pytest.raises(jo.InvalidValue, match=f"{name} has shape"):
                product(**{name: [1.0, 2.0, 3.0]})
            with pytest.raises(jo.errors.NotFinite):
                product(**{name: np.nan})
    projection = jo.gradients.of_projection([0.0, 0.0], jo.convex.Polyhedron([[1.0, 1.0]], [-2.0]))
    for name in ("w", "c"):
        with pytest.raises(jo.InvalidValue, match=f"{name} has shape"):
            projection.forward(**{name: [1.0, 2.0, 3.0]})
    point = jo.Motion(q0=[0.3, 0.5], mass=[[2.0, 0.5], [0.5, 1.0]], force=[0.0, -9.0], within=jo.HalfSpace([0.2, 1.0]))
    run, way = jo.sensitivity(point, jo.Maury(), t=0.5, h=0.05), np.array([[0.0, 1.0], [0.0, 0.0]])
    assert run.forward(mass=way)[0][0] == pytest.approx(np.sum(run.reverse(q=[1.0, 0.0]).mass * way), rel=1e-9)


def test_a_shorter_step_on_a_wall_that_turns_is_differentiated():
    """Overlaps that a longer step left are measured at the time before the step, along the normal of that time."""

    def make(q0):
        wall = jo.HalfSpace(lambda t: [np.sin(0.9 * t), np.cos(0.9 * t)], -0.01)
        return jo.Motion(q0=q0, v0=[0.3, -1.0], force=[0.0, -9.81], within=wall)

    run = jo.sensitivity(make([0.5, 0.05]), jo.Maury(), t=0.53, h=0.1)
    ends = [jo.solve(make([x, 0.05]), jo.Maury(), t=0.53, h=0.1) for x in (0.5 + 1e-6, 0.5 - 1e-6)]
    found = run.forward(q0=[1.0, 0.0])[0]
    np.testing.assert_allclose(found, (ends[0].q[-1] - ends[1].q[-1]) / 2e-6, atol=1e-8)
    assert run.reverse(q=[0.7, -0.4]).q0[0] == pytest.approx(found @ [0.7, -0.4], rel=1e-12)


def test_a_run_without_bodies_has_an_empty_gradient():
    nobody = jo.Motion(q0=np.zeros((0, 2)), within=jo.Balls(np.zeros(0)))
    found = jo.sensitivity(nobody, jo.Maury(), t=0.1, h=0.1).reverse(q=np.zeros((0, 2)))
    assert found.q0.shape == (0, 2)
    assert found.radii.shape == (0,)


def test_bodies_without_contacts_have_the_derivatives_of_a_flight():
    apart = jo.Motion(q0=[[0.0, 0.0], [5.0, 0.0]], v0=[[0.0, 1.0]] * 2, within=jo.Balls([0.1, 0.1]))
    found = jo.sensitivity(apart, jo.Maury(), t=0.2, h=0.1).forward(v0=[[1.0, 0.0], [0.0, 0.0]])[0]
    np.testing.assert_allclose(found, [[0.2, 0.0], [0.0, 0.0]], atol=1e-15)
