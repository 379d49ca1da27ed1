"""The statistics of a run tell the truth: overlaps of the positions reached, active rows, radii of their time."""

import numpy as np
import pytest

import jostle as jo
from jostle.cli.show import summary
from jostle.terminal import Watch


def grains_in_a_box(e, n=12, seed=0):
    """Discs that fly at random in a box, without a force."""
    random, radii = np.random.default_rng(seed), np.full(n, 0.5)
    q0 = np.stack(np.meshgrid(np.arange(4), np.arange(n // 4)), axis=-1).reshape(n, 2) * 1.5 + 1.0
    within = jo.Balls(radii) & jo.Box([0.0, 0.0], [6.5, 5.0], radii=radii)
    return jo.Motion(q0=q0, v0=random.normal(0.0, 3.0, (n, 2)), within=within, law=jo.Restitution(e))


MEASURED = [(jo.Paoli(), 0.5), (jo.MoreauJean(), 0.0), (jo.MoreauJean(), 0.5), (jo.MoreauJean(), 1.0)]
measured = pytest.mark.parametrize(
    ("scheme", "e"), MEASURED, ids=[f"{type(scheme).__name__}-{e}" for scheme, e in MEASURED]
)


@measured
@pytest.mark.filterwarnings("ignore::jostle.errors.CloseImpacts")
def test_the_worst_overlap_is_that_of_the_positions_reached(scheme, e):
    watch = Watch()
    sol = jo.solve(grains_in_a_box(e), scheme, t=1.0, h=0.05, progress=watch)
    depth = np.maximum(0.0, -sol.gaps()) / 0.5
    assert depth.max() > 0.01
    np.testing.assert_allclose(sol.stats["overshoot"], depth[1:], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose([sol.overlap, watch.overlap], depth.max(), rtol=1e-9)


@measured
@pytest.mark.filterwarnings("ignore::jostle.errors.CloseImpacts")
def test_summaries_of_files_have_the_worst_overlap_of_all_steps(scheme, e, tmp_path):
    """Of all steps, though the file has but the last frame."""
    path = tmp_path / "run.vtkhdf"
    saved = jo.solve(grains_in_a_box(e), scheme, t=1.0, h=0.05, every=100, output=path)
    deepest = -jo.solve(grains_in_a_box(e), scheme, t=1.0, h=0.05).gaps().min() / 0.5
    np.testing.assert_allclose(summary(saved, path)["worst_overlap"], deepest, rtol=1e-9)
    np.testing.assert_allclose(jo.io.read(path).overlap, deepest, rtol=1e-9)


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Paoli()], ids=["Maury", "Paoli"])
def test_where_the_projection_bounds_the_overlap_nothing_else_is_measured(scheme):
    sol = jo.solve(grains_in_a_box(0.0), scheme, t=1.0, h=0.05)
    assert (sol.stats["overshoot"] == 0.0).all()
    assert max(0.0, -sol.gaps().min()) / 0.5 <= sol.overlap + 1e-14
    assert sol.overlap <= 1e-8


def test_bodies_that_are_not_there_do_not_overlap():
    within = jo.Balls([0.5, 0.5, 0.5])
    problem = jo.Motion(
        q0=[[0.0, 0.0], [3.0, 0.0], [3.0, 0.0]], within=within, law=jo.Restitution(1.0), present=[True, True, False]
    )
    assert jo.solve(problem, jo.MoreauJean(), t=1.0, h=0.5).overlap == 0.0


def test_a_guess_that_is_accepted_counts_its_active_rows():
    """A pile at rest: the multipliers of the step before are the answer, without an iteration."""
    q0 = np.stack(np.meshgrid(np.arange(20.0), np.arange(8.0)), axis=-1).reshape(-1, 2) + 0.5
    within = jo.Balls(np.full(len(q0), 0.5)) & jo.Box([0.0, 0.0], [20.0, np.inf], radii=0.5)
    pile = jo.Motion(q0=q0, force=np.tile([0.0, -1.0], (len(q0), 1)), within=within)
    sol = jo.solve(pile, jo.Maury(solver=jo.GaussSeidel(tol=1e-6)), t=0.05, h=0.01)
    carried = [np.count_nonzero(p) for p in sol.multipliers[1:]]
    assert (sol.stats["iterations"] == 0).any()
    assert sol.stats["active"].tolist() == carried
    assert min(carried) >= 160


def test_the_file_of_a_swelling_run_has_the_radii_of_each_time(tmp_path):
    within = jo.Balls(lambda t: [0.5 + 0.1 * t, 0.25])
    swell = jo.Motion(q0=[[0.0, 0.0], [3.0, 0.0]], within=within)
    jo.solve(swell, jo.Maury(), t=(1.0, 3.0), h=0.5, output=tmp_path / "swell.vtkhdf")
    radii = np.array([jo.io.read(tmp_path / "swell.vtkhdf").radii[k] for k in range(5)])
    np.testing.assert_allclose(radii[:, 0], 0.5 + 0.1 * np.linspace(1.0, 3.0, 5), rtol=1e-6)
    np.testing.assert_allclose(radii[:, 1], 0.25, rtol=1e-6)


@pytest.mark.parametrize("e", [0.3, 0.8, 1.0])
def test_paoli_overlaps_by_at_most_h_times_the_speed_at_which_bodies_meet(e):
    """q^{n+1} is behind the wall only if W^n is not: its depth is at most 2 e / (1 + e) h |v|, which is reached."""
    h, speed, bound = 0.002, 1.0, 2.0 * e / (1.0 + e)
    depths = []
    for phase in np.linspace(0.0, 1.0, 21):
        ball = jo.Motion(q0=[0.01 + phase * h], v0=[-speed], within=jo.HalfSpace([1.0]), law=jo.Restitution(e))
        depths.append(-jo.solve(ball, jo.Paoli(), t=0.02, h=h).gaps().min() / (h * speed))
    assert 0.9 * bound < max(depths) <= bound + 1e-9


@pytest.mark.parametrize(("scheme", "e"), [(jo.Paoli(), 0.8), (jo.MoreauJean(), 0.8), (jo.Maury(), 0.0)])
def test_the_impulse_of_an_impact_is_the_jump_and_what_carries_the_weight_in_two_steps(scheme, e):
    m, g, h = 2.0, 9.81, 0.01
    ball = jo.Motion(q0=[1.0], force=[-m * g], mass=m, within=jo.HalfSpace([1.0]), law=jo.Restitution(e))
    hit = jo.solve(ball, scheme, t=0.6, h=h).impacts()
    assert len(hit) == 1
    np.testing.assert_allclose(hit.impulse, m * (hit.after - hit.before) + 2.0 * h * m * g, rtol=1e-12)
