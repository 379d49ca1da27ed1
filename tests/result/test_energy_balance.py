"""The balance of energy: exact answers, the order of its error, files, and what is said where it cannot be known."""

import warnings

import numpy as np
import pytest

import jostle as jo
from rows import whole

GRAVITY = 10.0


def bouncing(e, **more):
    return jo.Motion(q0=[1.0], force=[-GRAVITY], within=jo.HalfSpace([1.0]), law=jo.Restitution(e), **more)


def spring(e=1.0, **more):
    """A mass on a spring that hits a stop at -0.5."""
    within = jo.HalfSpace([1.0], -0.5)
    return jo.Motion(q0=[1.0], force=lambda t, q: -q, within=within, law=jo.Restitution(e), **more)


def by_two(errors):
    return np.divide(errors[:-1], errors[1:])


@pytest.mark.parametrize("scheme", [jo.MoreauJean(), jo.Paoli()], ids=["MoreauJean", "Paoli"])
def test_each_impact_of_a_ball_dissipates_its_share(scheme):
    """(1 - e^2) v^2 / 2 at each impact, with v halved each time; the time of an impact is known up to h."""
    for h in (4e-3, 1e-3):
        found = jo.solve(bouncing(0.5), scheme, t=1.2, h=h).energy_balance()
        first, second = (0.75 * v**2 / 2.0 for v in (np.sqrt(2.0 * GRAVITY), np.sqrt(2.0 * GRAVITY) / 2.0))
        flight = np.sqrt(2.0 / GRAVITY)
        for t, exact in ((0.9 * flight, 0.0), (1.9 * flight, first), (2.4 * flight, first + second)):
            assert found.dissipated[np.searchsorted(found.t, t)] == pytest.approx(exact, abs=40.0 * h)


def test_the_balance_of_moreau_jean_under_a_constant_force_is_exact():
    balls = jo.Motion(
        q0=[[0.0, 1.0], [0.3, 2.2], [1.0, 1.5]], v0=[[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]], mass=[1.0, 2.0, 3.0],
        force=[0.0, -5.0], within=jo.Balls([0.4] * 3) & jo.Box([-1.0, 0.0], [2.0, np.inf]), law=jo.Restitution(0.7),
    )  # fmt: skip
    found = jo.solve(balls, jo.MoreauJean(), t=3.0, h=0.01).energy_balance()
    assert np.abs(found.error).max() < 1e-10
    assert found.dissipated[-1] > 5.0
    assert found.work_of_walls[-1] == 0.0


def test_an_elastic_billiard_loses_nothing():
    random = np.random.default_rng(0)
    q0 = np.stack(np.meshgrid([1.0, 2.5, 4.0], [1.0, 2.5, 4.0]), axis=-1).reshape(-1, 2)
    table = jo.Balls(np.full(9, 0.4)) & jo.Box([0.0, 0.0], [5.0, 5.0])
    billiard = jo.Motion(q0=q0, v0=random.normal(size=(9, 2)), within=table, law=jo.Restitution(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sol = jo.solve(billiard, jo.MoreauJean(), t=5.0, h=0.01)
        found = sol.energy_balance()
    assert len(sol.impacts()) > 20
    for part in (found.dissipated, found.work_of_walls, found.work_of_forces, found.error):
        assert np.abs(part).max() < 1e-9


@pytest.mark.each_value
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("w", [2.0, -0.5])
def test_the_work_of_a_piston_is_the_gain_of_energy_and_what_is_lost(e, w):
    """A ball of mass 3 at -1 meets a piston of velocity w: its impulse is 3 (1 + e)(1 + w), its work that times w."""
    piston = jo.HalfSpace([1.0], offset=lambda t: w * t)
    ball = jo.Motion(q0=[1.0], v0=[-1.0], mass=3.0, within=piston, law=jo.Restitution(e))
    found = jo.solve(ball, jo.MoreauJean(), t=3.0, h=0.01).energy_balance()
    assert found.work_of_walls[-1] == pytest.approx(3.0 * (1.0 + e) * (1.0 + w) * w, abs=1e-9)
    assert found.dissipated[-1] == pytest.approx(1.5 * (1.0 - e**2) * (1.0 + w) ** 2, abs=1e-9)
    assert np.abs(found.error).max() < 1e-9


def test_a_lift_does_the_work_that_raises_its_ball():
    """Maury: a ball on a floor that rises at 0.5 gains m g times the height."""
    lift = jo.HalfSpace([1.0], offset=lambda t: 0.5 * t)
    found = jo.solve(
        jo.Motion(q0=[0.0], v0=[0.5], mass=2.0, force=[-20.0], within=lift), jo.Maury(), t=2.0, h=0.01
    ).energy_balance()
    assert found.work_of_walls[-1] == pytest.approx(20.0, abs=1e-9)
    assert found.work_of_forces[-1] == pytest.approx(-20.0, abs=1e-9)
    assert np.abs(found.dissipated).max() < 1e-9


def test_radii_that_grow_do_work():
    """Two balls at rest are pushed apart by a radius that grows at 0.5, e = 0: each leaves at 0.25."""
    pair = jo.Motion(q0=[[0.0], [1.0]], within=jo.Balls(lambda t: [0.5 + 0.5 * t, 0.5]))
    for scheme in (jo.Maury(), jo.MoreauJean()):
        found = jo.solve(pair, scheme, t=1.0, h=0.01).energy_balance()
        assert found.kinetic[-1] == pytest.approx(0.0625, abs=1e-9)
        assert found.work_of_walls[-1] == pytest.approx(0.125, abs=1e-9)
        assert found.dissipated[-1] == pytest.approx(0.0625, abs=1e-9)


@pytest.mark.parametrize(
    "scheme", [jo.MoreauJean(), whole(jo.Paoli()), jo.Maury()], ids=["MoreauJean", "Paoli", "Maury"]
)
@pytest.mark.filterwarnings("ignore::jostle.errors.EnergyDrift")
def test_the_error_of_the_balance_is_of_order_one_and_of_order_two_with_moreau_jean(scheme):
    problem = spring(0.0) if isinstance(scheme, jo.Maury) else spring(1.0)
    errors = [np.abs(jo.solve(problem, scheme, t=4.0, h=h).energy_balance().error).max() for h in (0.02, 0.01)]
    np.testing.assert_allclose(by_two(errors), 4.0 if isinstance(scheme, jo.MoreauJean) else 2.0, rtol=0.15)


@pytest.mark.filterwarnings("ignore::jostle.errors.EnergyDrift")
def test_a_potential_and_the_work_along_the_way_agree_where_the_force_is_linear():
    """The trapezoidal rule is exact then."""
    for h in (0.04, 0.02):
        problems = spring(), spring(potential=lambda q: q @ q / 2.0)
        runs = [jo.solve(problem, jo.Paoli(), t=4.0, h=h) for problem in problems]
        one, other = (run.energy_balance().work_of_forces for run in runs)
        np.testing.assert_allclose(one, other, atol=1e-12)
        np.testing.assert_allclose(runs[1].energy().potential, runs[1].q[:, 0] ** 2 / 2.0, atol=1e-12)
        assert runs[0].energy().potential is None


def test_a_potential_that_is_not_that_of_the_force_is_refused():
    sol = jo.solve(spring(0.5, potential=lambda q: float(q @ q)), jo.Paoli(), t=1.0, h=0.01)
    for asked in (sol.energy, sol.energy_balance):
        with pytest.raises(jo.InvalidValue, match=r"the potential does not match the force: at t = 0 its slope .* is"):
            asked()
    beyond = spring(0.5, potential=lambda q: float(q @ q / 2.0) if q[0] < 0.5 else np.nan)
    sol = jo.solve(beyond, jo.Paoli(), t=1.0, h=0.01)
    with pytest.raises(jo.errors.NotFinite, match=r"what potential\(q\) returned"):
        sol.energy()
    with pytest.raises(jo.InvalidValue, match="potential must be a function"):
        spring(potential=3.0)
    with pytest.raises(jo.InvalidValue, match="one number for all bodies together"):
        spring(potential=lambda q: [q, q]).potential(np.ones(1))


def test_energy_that_changes_though_e_is_one_is_a_warning():
    with pytest.warns(
        jo.errors.EnergyDrift, match=r"changed it by .*% of the largest .* between them.*a quarter of the error"
    ):
        jo.solve(spring(), jo.MoreauJean(), t=6.0, h=0.5).energy_balance()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jo.solve(spring(), jo.Paoli(), t=6.0, h=0.005).energy_balance()
        jo.solve(bouncing(1.0), jo.MoreauJean(), t=3.0, h=0.01).energy_balance()
        jo.solve(spring(0.5), jo.MoreauJean(), t=6.0, h=0.02).energy_balance()  # not elastic: nothing to expect
    oblique = jo.Motion(
        q0=[[0.0, 0.0], [1.3, 0.7]], v0=[[1.0, 0.0], [0.0, 0.0]], within=jo.Balls([0.5, 0.5]), law=jo.Restitution(1.0)
    )
    with pytest.warns(jo.errors.EnergyDrift, match="at impacts.*MoreauJean loses nothing"):
        jo.solve(oblique, jo.Paoli(), t=2.0, h=0.1).energy_balance()


@pytest.mark.parametrize("every", [1, 37])
def test_the_steps_between_saved_times_are_in_the_balance(every):
    whole = jo.solve(bouncing(0.5), jo.MoreauJean(), t=2.0, h=0.01).energy_balance()
    found = jo.solve(bouncing(0.5), jo.MoreauJean(), t=2.0, h=0.01, every=every).energy_balance()
    assert found.dissipated[-1] == pytest.approx(whole.dissipated[-1], abs=1e-12)
    assert np.abs(found.error).max() < 1e-11


def test_a_file_has_the_balance(tmp_path):
    piston = jo.HalfSpace([1.0], offset=lambda t: 0.5 * t)
    ball = jo.Motion(q0=[1.0], force=[-GRAVITY], within=piston, law=jo.Restitution(0.5))
    output = jo.io.Output(tmp_path / "ball.vtkhdf", dtype=float)
    jo.solve(ball, jo.MoreauJean(), t=2.0, h=0.01, every=5, output=output)
    exact = jo.solve(ball, jo.MoreauJean(), t=2.0, h=0.01, every=5).energy_balance()
    found = jo.io.read(tmp_path / "ball.vtkhdf").energy_balance()
    for name in ("t", "kinetic", "work_of_forces", "work_of_walls", "dissipated", "error"):
        np.testing.assert_allclose(getattr(found, name), getattr(exact, name), atol=1e-10)


def test_what_a_file_lacks_is_named(tmp_path):
    jo.solve(spring(0.5), jo.MoreauJean(), t=1.0, h=0.01, output=jo.io.Output(tmp_path / "s.vtkhdf", dtype=float))
    with pytest.raises(jo.InvalidValue, match="the force is not in the file"):
        jo.io.read(tmp_path / "s.vtkhdf").energy_balance()
    given = jo.io.read(tmp_path / "s.vtkhdf", spring(0.5), jo.MoreauJean()).energy_balance()
    exact = jo.solve(spring(0.5), jo.MoreauJean(), t=1.0, h=0.01).energy_balance()
    np.testing.assert_allclose(given.work_of_forces, exact.work_of_forces, atol=1e-12)


def test_where_there_is_no_balance_it_is_said():
    with pytest.raises(jo.InvalidValue, match="a first-order problem has no kinetic energy"):
        jo.solve(jo.Sweeping(q0=[1.0]), jo.Venel(), t=1.0, h=0.5).energy_balance()
    some = jo.Motion(q0=[[0.0], [3.0]], within=jo.Balls([0.5, 0.5]), present=[True, False])
    with pytest.raises(jo.InvalidValue, match="bodies come and go"):
        jo.solve(some, jo.Maury(), t=1.0, h=0.5).energy_balance()


def test_the_table_of_impulses_has_a_row_for_each_contact_that_carries():
    tower = jo.Motion(
        q0=[[0.0, 1.0], [0.0, 3.0]], force=[0.0, -10.0], within=jo.Balls([1.0, 1.0]) & jo.HalfSpace([0, 1], radii=1.0)
    )
    table = jo.solve(tower, jo.Maury(), t=0.03, h=0.01).impulses()
    assert list(table) == ["t", "pair", "first", "second", "impulse", "force"]
    assert table["pair"].tolist() == ["0 - 1", "0 - wall 0"] * 3
    np.testing.assert_allclose(table["t"], np.repeat([0.01, 0.02, 0.03], 2))
    np.testing.assert_allclose(table["force"], [10.0, 20.0] * 3, atol=1e-9)
    np.testing.assert_allclose(table["impulse"], [0.1, 0.2] * 3, atol=1e-9)
    np.testing.assert_array_equal(np.stack([table["first"], table["second"]], axis=1)[:2], [[0, 1], [0, -1]])


def test_a_table_without_contacts_is_empty_and_one_of_a_file_is_that_of_the_run(tmp_path):
    free = jo.solve(jo.Motion(q0=[0.0]), jo.Maury(), t=1.0, h=0.5).impulses()
    assert [len(column) for column in free.values()] == [0] * 6
    output = jo.io.Output(tmp_path / "b.vtkhdf", contacts=True, dtype=float)
    sol = jo.solve(bouncing(0.5), jo.Paoli(), t=1.0, h=0.01)
    jo.solve(bouncing(0.5), jo.Paoli(), t=1.0, h=0.01, output=output)
    for name, column in jo.io.read(tmp_path / "b.vtkhdf").impulses().items():
        np.testing.assert_array_equal(column, sol.impulses()[name])
    jo.solve(bouncing(0.5), jo.Paoli(), t=1.0, h=0.01, output=tmp_path / "without.vtkhdf")
    with pytest.raises(jo.errors.FileIsThere, match=r"without.vtkhdf exists already: replace it with .*overwrite=True"):
        jo.solve(bouncing(0.5), jo.Paoli(), t=1.0, h=0.01, output=tmp_path / "without.vtkhdf")
    with pytest.raises(jo.InvalidValue, match="contains no contacts"):
        jo.io.read(tmp_path / "without.vtkhdf").impulses()


# What a start across constraints loses.


def three_beads(v0, **more):
    rods = jo.Rods([(0, 1), (1, 2)], [0.9, 1.4])
    return jo.Motion(q0=[[0.0, 0.0], [0.9, 0.0], [2.3, 0.0]], v0=v0, within=rods, **more)


ALL = pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean(), jo.Paoli()], ids=["Maury", "MoreauJean", "Paoli"])


@ALL
@pytest.mark.parametrize("mass", [[1.0, 1.0, 1.0], [2.0, 0.5, 1.5]], ids=["equal", "different"])
def test_what_a_start_across_rods_loses_is_dissipated(scheme, mass):
    """Three beads in a row go on together."""
    m, u = np.array(mass), np.array([3.0, -1.0, 0.5])
    found = jo.solve(three_beads(np.stack([u, 0.0 * u], axis=1), mass=mass), scheme, t=0.1, h=0.01).energy_balance()
    lost = 0.5 * (m @ u**2 - (m @ u) ** 2 / m.sum())
    assert found.dissipated[1:] == pytest.approx(np.full(10, lost), rel=1e-9)
    assert found.error == pytest.approx(np.zeros(11), abs=1e-9)
    assert found.work_of_walls == pytest.approx(np.zeros(11), abs=1e-12)


@ALL
@pytest.mark.parametrize("e", [0.0, 0.5])
def test_what_an_impact_at_the_start_loses_is_dissipated(scheme, e):
    if isinstance(scheme, jo.Maury) and e:
        return
    ball = jo.Motion(q0=[0.0, 3.0], v0=[-2.0, 1.0], within=jo.HalfSpace([1.0, 0.0]), law=jo.Restitution(e))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jo.errors.CloseImpacts)  # Paoli has no restitution in the first step
        found = jo.solve(ball, scheme, t=0.1, h=0.01).energy_balance()
    kept = 0.0 if isinstance(scheme, jo.Paoli) else e
    assert found.dissipated[-1] == pytest.approx(2.0 * (1.0 - kept**2), rel=1e-9)
    assert found.error == pytest.approx(np.zeros(11), abs=1e-9)


@pytest.mark.parametrize("equality", [False, True], ids=["rod", "function"])
def test_what_a_start_across_a_rod_that_grows_loses_is_not_the_work_of_the_rod(equality, tmp_path):
    """The end of the rod rises at v: the bead takes this speed from u, (u - v)^2 / 2 is lost, and v (v - u) is work."""
    u, v = -1.5, 0.4
    rod = jo.Rods([(0, -1)], lambda t: np.array([1.0 + v * t]), points=[[0.0, 0.0]])
    if equality:
        rod = jo.constraints(equal=True)(lambda t, q: [q[0, 1] - 1.0 - v * t])
    bead = jo.Motion(q0=[[0.0, 1.0]], v0=[0.0, u], force=[0.0, -GRAVITY], within=rod)
    file = tmp_path / "a.vtkhdf"
    for output in (None, jo.io.Output(file, dtype=float)):
        found = jo.solve(bead, jo.MoreauJean(), t=0.02, h=0.01, output=output).energy_balance()
        assert found.dissipated[1:] == pytest.approx(np.full(2, 0.5 * (u - v) ** 2), rel=1e-9)
        assert found.work_of_walls[1:] == pytest.approx(v * (v - u) + GRAVITY * v * found.t[1:], rel=1e-9)
        assert found.error == pytest.approx(np.zeros(3), abs=1e-12)


def test_a_start_along_rods_loses_nothing_and_a_wall_is_hit_after_the_rods():
    """The rods share the blow out before the wall stops the last bead."""
    across = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    assert jo.solve(three_beads(across), jo.MoreauJean(), t=0.1, h=0.01).energy_balance().dissipated[-1] == 0.0
    within = three_beads(across).within & jo.HalfSpace([-1.0, 0.0], -2.3)
    hit = jo.Motion(q0=three_beads(across).q0, v0=[[3.0, 0.0], [0.0, 0.0], [0.0, 0.0]], within=within)
    found = jo.solve(hit, jo.MoreauJean(), t=0.1, h=0.01).energy_balance()
    assert found.dissipated[-1] == pytest.approx(4.5, rel=1e-9)
    assert found.error == pytest.approx(np.zeros(11), abs=1e-9)
