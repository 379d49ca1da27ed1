"""Every program of the gallery runs, draws what it should, and has the numbers of its figure."""

import runpy
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from names import unknown_names
from rows import whole

matplotlib.use("Agg")

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"


def the_numerical_projection_is_inside_and_further(result):
    Q, q = result["Q"], result["q"]
    for theory, scheme in result["found"]:
        assert Q.gap(0.0, theory) == pytest.approx(0.0, abs=1e-6)
        assert Q.gap(0.0, scheme) > 1e-3  # the tangent planes touch Q nowhere near
    assert result["inner"].slack(q).min() > 0.0


def the_ball_reaches_its_target_and_enters_no_hole(result):
    sol = result["sol"]
    assert sol.gaps().min() >= -1e-9
    assert sol.q[-1, 0] == pytest.approx(6.0, abs=1e-6)


def nobody_overlaps_and_everyone_leaves(result):
    assert result["sol"].status == "stopped"
    assert result["sol"].gaps().min() >= -1e-8 * 0.22
    assert plt.figure(2).axes[0].lines[0].get_ydata()[[0, -1]].tolist() == [80, 0]


def the_band_falls_and_who_slows_down_leaves_later(result):
    results = result["results"]
    assert results.failures == {}
    assert len(results) == 20
    fast, slow = (results.summary("evacuation_time", case) for case in (0, 1))
    assert fast.high < slow.low
    assert all((np.diff(curves) <= 0.0).all() for curves in result["inside"].values())
    assert len(plt.figure(1).axes[0].collections) == 2


def obtuse_corners_let_shots_slide_out(result):
    for (degrees, offset), speed in result["after"].items():
        exact = 0.25 if degrees == 120 and offset else 0.0  # P09
        assert speed == pytest.approx(exact, abs=1e-9)


def a_right_angle_sends_all_shots_back_and_sixty_degrees_do_not(result):
    after = result["after"]
    right = np.array([after[90, offset] for offset in (-0.05, 0.0, 0.05)])
    assert right == pytest.approx(np.tile(right[1], (3, 1)), abs=1e-9)
    assert after[60, 0.0] == pytest.approx([0.749427888413, 0.662085976342], abs=1e-9)  # P10
    assert after[60, 0.05] == pytest.approx([0.948097219208, 0.317980601499], abs=1e-9)


def the_first_angle_never_passes_the_vertical(result):
    assert result["sol"].z[:, 0].min() >= -1e-12
    assert result["sol"].impacts().t[0] == pytest.approx(0.46, abs=0.01)


def the_period_doubles_where_it_should(result):
    spread = np.array([np.ptp(speeds) for speeds in result["speeds"]])
    Gamma = result["Gamma"]
    assert spread[Gamma < 1.04].max() < 0.01
    assert spread[(Gamma > 1.12) & (Gamma < 1.2)].min() > 0.01
    one = np.concatenate([each for each, where in zip(result["speeds"], Gamma, strict=True) if where < 1.04])
    assert one == pytest.approx(0.5 + result["table"], abs=0.01)  # of the orbit with one bounce a period


def the_orbit_of_the_oscillator_doubles_where_it_should(result):
    periods, omega = result["seen"].periods(tol=1e-3), result["omega"]
    assert set(periods[omega < 2.64]) == {1}
    assert set(periods[(omega > 2.67) & (omega < 2.7)]) == {2}  # P28: at 2.65334772786
    assert (periods[(omega > 2.8) & (omega < 2.9)] == 0).any()
    assert len(plt.gcf().axes[0].lines[0].get_xdata()) == 240 * 50


def starts_end_on_an_orbit_of_one_period_or_of_six(result):
    found = result["found"]
    assert [one.period for one in found.attractors[:2]] == [6, 1]
    assert 0.6 < found.share(0) < 0.7
    assert found.share(0) + found.share(1) > 0.97


def spheres_do_not_overlap(result):
    sol = result["sol"]
    assert sol.gaps().min() >= -1e-6 * result["radii"].min()
    assert sol.energy().kinetic[-1] < 0.05 * sol.energy().kinetic.max()


def discs_grow_into_a_jam(result):
    sol, side = result["sol"], result["side"]
    assert sol.status == "failed"
    assert 0.75 < np.pi * (result["radii"](sol.t[-1]) ** 2).sum() / side**2 < 0.9
    assert sol.gaps().min() >= -1e-6


def contacts_push_and_then_pull(result):
    sol = result["sol"]
    at = {t: sol.multipliers[int(np.abs(sol.t - t).argmin())] for t in (0.5, 1.5, 2.4)}
    assert at[0.5].max() > 0.0
    assert at[1.5].min() < -1e-3
    assert sol.gaps()[-1] > 0.0  # they came apart


def velocities_lie_between_a_slide_and_a_mirror_image(result):
    for e, u in result["after"].items():
        assert u == pytest.approx([1.0, 0.8 * e], abs=1e-12)


def fourteen_discs_have_one_contact_too_many(result):
    found = result["found"]
    assert (found.velocities, found.contacts, found.rank, found.dependent) == (28, 29, 25, 4)
    assert result["p"] @ result["G"] == pytest.approx(np.zeros(28), abs=1e-12)


def lattices_fill_what_the_paper_says(result):
    exact = {"square lattice": np.pi / 4, "triangular lattice": np.pi / (2 * np.sqrt(3))}
    assert result["filled"] == pytest.approx(exact)


def the_parts_are_orthogonal_and_add_up(result):
    for U, on_C, on_N in result["parts"]:
        assert on_C + on_N == pytest.approx(np.array(U))
        assert on_C @ on_N == pytest.approx(0.0, abs=1e-12)
        assert (result["C"].G @ on_C).min() >= -1e-12
    assert any(np.linalg.norm(part) < 1e-9 for _, on_C, on_N in result["parts"] for part in (on_C, on_N)) is False


def the_middle_would_pull_and_opens(result):
    assert result["glued"][-1] == pytest.approx(-0.732050807569, abs=1e-11)  # P40
    assert result["hit"].impulse == pytest.approx([1.54903810568] * 4 + [0.0], abs=1e-10)


def only_across_the_axes_something_moves_across(result):
    across = result["across"]
    assert across[0] == pytest.approx(0.0, abs=1e-12)
    assert across[45] > 0.1
    assert across[8] == pytest.approx(np.sin(np.radians(8)), rel=0.35)


def the_pressures_balance_on_every_grain(result):
    assert result["balance"] <= 1e-9
    assert max(np.abs(field).max() for field in result["fields"]) > 0.2


def grains_do_not_approach_after_the_impact(result):
    found, lattice = result["found"], result["lattice"]
    assert (lattice.cone.G @ found.means.ravel()).min() < -0.1
    assert (lattice.cone.G @ found.velocity.ravel()).min() >= -1e-9


def two_motions_solve_the_same_problem(result):
    first, second = result["ends"]
    ends = {sol.t[0]: float(sol(1.0)[0]) for sol in (first, second)}
    assert ends[2.0**-7] == pytest.approx(0.0171875, abs=5e-4)  # P61: q_B(1), and q_A(1) = 0
    assert ends[2.0**-8] == pytest.approx(0.0, abs=1e-9)


def touching_discs_share_and_others_pass_on(result):
    assert result["after"][0.0] == pytest.approx([-0.6, 0.4, 0.4, 0.4, 0.4], abs=1e-9)
    assert result["after"][0.02] == pytest.approx([0, 0, 0, 0, 1], abs=1e-9)


def laws_differ_and_gaps_decide(result):
    equal, mixed = result["laws"]
    assert equal["Moreau"].velocity == pytest.approx([-0.6, 0.4, 0.4, 0.4, 0.4], abs=1e-9)
    assert [one.velocity.tolist() for one in equal.binary.outcomes] == [[0.0, 0.0, 0.0, 0.0, 1.0]]
    assert len(mixed.binary.outcomes) == len(result["sampled"].counts) == 3
    assert len({tuple(u.round(6)) for u in result["patterns"].values()}) == 7
    assert result["patterns"][True, True, True] == pytest.approx([0, 0, 0, 0, 1], abs=1e-12)
    for found, mass in zip(result["laws"], (result["equal"], result["mixed"]), strict=True):
        for one in found.outcomes:
            assert (mass @ one.velocity, mass @ one.velocity**2) == pytest.approx((1.0, 1.0), abs=1e-9)


def errors(force, e, motion, start=2.0**-6, end=4.0, jumps=(), pieces=()):
    """How far a particle on a floor is from solving q'' = f + reaction, relative to its largest height or velocity.

    The time is cut where the force jumps, at all products of `jumps` with powers of 2, and where pieces begin.
    """
    octaves = np.outer(2.0 ** np.arange(-7, 4), jumps).ravel()
    t = np.unique(np.concatenate([np.geomspace(start, end, 400), octaves, pieces]))
    t = t[(t >= start) & (t <= end)]
    t = t[np.append(True, np.diff(t) > 1e-13 * end)]
    x, weights = np.polynomial.legendre.leggauss(12)
    half = np.diff(t)[:, None] / 2.0
    nodes = t[:-1, None] + half * (1.0 + x)
    pushed = (half * np.vectorize(force)(nodes)) @ weights
    (q, u), (heights, speeds) = motion(t), (each.reshape(nodes.shape) for each in motion(nodes.ravel()))
    high, fast = np.abs(q).max() or 1.0, np.abs(u).max() or 1.0
    reaction, above = np.diff(u) - pushed, heights.min(axis=1) > 1e-12 * high
    lands = above & (q[1:] <= 1e-12 * high)
    return {
        "overlap": max(-q.min(), 0.0) / high,
        "position": np.abs(np.diff(q) - (half * speeds) @ weights).max() / high,
        "momentum": np.abs(reaction[above & ~lands]).max(initial=0.0) / fast,
        "pull": (-reaction).max(initial=0.0) / fast,
        "law": np.abs(u[1:][lands] + e * (u[:-1] + pushed)[lands]).max(initial=0.0) / fast,
    }


def repeated(motion):
    """The times at which the parabolas of a self-similar motion begin."""
    starts, _, r = motion.args
    return {"pieces": np.outer(r ** np.arange(-8.0, 5.0), starts).ravel()}


def both_motions_of_each_pair_are_solutions_and_others_are_not(result):
    pulses, pressing, elastic, smooth = result["pairs"].values()
    for (force, e, *motions), jumps in ((pulses, (1.0, 1.25)), (pressing, (1.0, 1.8)), (elastic, (1.0, 5.0 / 3.0))):
        for motion in motions:
            assert max(errors(force, e, motion, jumps=jumps, **repeated(motion)).values()) < 1e-13
    for motion in smooth[2:]:
        (run,) = motion.__defaults__
        assert max(errors(*smooth[:2], motion, float(run.start), 0.28, pieces=run.starts).values()) < 1e-10
    (q, u), (q_b, u_b) = (motion(np.array([1.0, 2.0])) for motion in pulses[2:])  # P61
    np.testing.assert_allclose([q, u], [[0.0, 0.06875], [0.0, -0.35]], rtol=1e-14)
    np.testing.assert_allclose([q_b[0], u_b[0]], [0.0171875, -0.175], rtol=1e-13)
    assert np.abs(pulses[2].args[0] - 3.57449979984).min() < 1e-11
    for (_, _, rest, bounces), speed, top in ((pressing, 0.8, 0.32), (elastic, 2.0 / 3.0, 2.0 / 9.0)):  # P62
        assert not rest(np.linspace(0.1, 4.0, 99))[0].any()
        np.testing.assert_allclose(bounces(np.array([1.0]))[1], speed, rtol=1e-14)
        np.testing.assert_allclose(bounces(np.array([1.0 + speed]))[0], top, rtol=1e-13)
    even, odd = (np.ravel(motion(np.array([0.28]))) for motion in smooth[2:])  # P63
    np.testing.assert_allclose(even, [1.2584106682e-07, -0.00011863324], rtol=1e-8)
    np.testing.assert_allclose(odd, [2.5955256725e-07, 0.000252523433], rtol=1e-8)
    force, _, first, _ = pulses
    at = {"jumps": (1.0, 1.25), **repeated(first)}
    assert errors(lambda t: 2.0 * force(t), 0.0, first, **at)["momentum"] > 1e-3
    assert errors(lambda t: 1.6, 0.0, first, **at)["pull"] > 1e-3
    assert errors(force, 0.0, lambda t: (first(t)[0] - 0.01, first(t)[1]), **at)["overlap"] > 1e-2
    assert errors(force, 0.0, lambda t: (first(t)[0], 2.0 * first(t)[1]), **at)["position"] > 1e-3
    force, _, rest, bounces = pressing
    assert errors(force, 0.6, bounces, jumps=(1.0, 1.8), **repeated(bounces))["law"] > 1e-3
    assert errors(force, 0.6, rest, jumps=(1.0, 1.8))["law"] == 0.0


def the_density_leaves_faster_than_people_and_nobody_is_lost(result):
    (_, inside), (_, mass) = result["curves"].values()
    assert inside[0] == 500
    assert mass[0] == pytest.approx(500)
    assert inside[-1] == 0
    half = [times[int(np.argmax(n < 250))] for times, n in result["curves"].values()]
    assert half[1] < 0.75 * half[0]
    density = result["density"]
    assert density.mass + density.gone == pytest.approx(density.mass[0], rel=1e-12)
    assert density.density.max() <= 1 + 1e-8


def three_routes_agree_and_lattices_do_not(result):
    left = {name: sol.energy[-1] / sol.energy[0] for name, sol in result["runs"].items()}
    assert left["barrier"] == pytest.approx(left["splitting"], abs=0.01)
    assert left["isotropic, e = 0"] == pytest.approx(left["splitting"], abs=0.02)
    assert left["square, e = 0"] == pytest.approx(1 - 4 / 9, abs=0.02)  # four ninths of the rows meet
    assert left["square, e = 0.5"] > left["square, e = 0"] + 0.05
    for sol in result["runs"].values():
        assert sol.momentum[-1] == pytest.approx([0, 0], abs=1e-9)
        assert sol.density.max() <= 1 + 1e-8


def heaps_are_steeper_with_more_friction_and_none_is_left_without(result):
    angles, runs = result["angles"], result["runs"]
    assert angles[0.0] < 3.0
    assert angles[0.1] < 15.0
    assert min(angles[0.3], angles[0.5]) > 20.0
    lost = {mu: int((sol.q[-1][:, 1] < 0.0).sum()) for mu, sol in runs.items()}
    assert lost[0.0] > 0.8 * result["n"]
    assert lost[0.5] < lost[0.1]
    assert max(sol.overlap for sol in runs.values()) < 0.02


def the_force_in_the_silo_saturates(result):
    force, weight, sol = result["force"], result["weight"], result["sol"]
    assert force[-1] < 0.6 * weight[-1]
    assert force[0] > 0.7 * weight[0]
    off = force - result["janssen"](result["depth"], result["length"], result["w"])
    assert np.sqrt(np.mean(off**2)) < 0.15 * force.max()  # single depths scatter: few force chains cross the silo
    assert 0.2 < result["K"] < 1.0
    floor = [p[pairs[:, 1] == -1].sum() for p, pairs in zip(sol.multipliers[-20:], sol.pairs[-20:], strict=True)]
    assert np.mean(floor) / 0.02 == pytest.approx(force[-1], rel=0.4)


def the_drum_lifts_its_grains_and_they_come_down_in_avalanches(result):
    angle, sol = result["angle"], result["sol"]
    late = angle[sol.t > 3.0]
    assert late.min() > 10.0
    assert (np.maximum.accumulate(late) - late).max() > 5.0
    assert sol.overlap < 0.05


def columns_spread_and_rolling_resistance_stops_them(result):
    (a, free), (_, held) = result["runouts"].values()
    assert (free > 1.3 * held).all()
    assert (np.diff(free) > 0.0).all()
    assert 0.6 < held.sum() / a.sum() < 1.8  # experiments: 1.2


def the_clump_turns_over_and_keeps_energy_and_momentum(result):
    assert result["flips"] >= 2
    assert result["drift"] < 1e-11
    assert result["lost"] < 1e-11


def the_fit_finds_the_mass_and_the_restitution(result):
    assert (np.abs(result["x"] - result["truth"]) < 3.0 * result["spread"]).all()
    assert (result["spread"] < [0.03, 0.01]).all()


def exact_gradients_find_the_push_and_a_tape_does_not(result):
    exact, tape = (path[-1] for path in result["costs"].values())
    assert exact == pytest.approx(1.3965, abs=2e-4)
    assert tape > 1.6


def tangents_lead_to_the_wanted_flow_early_and_nowhere_late(result):
    start, *_, end = (value for _, value in result["newton"])
    assert start < 8.1
    assert end == pytest.approx(result["wanted"], abs=0.01)
    small, trend = result["slopes"].values()
    assert result["exact"] == pytest.approx(small, rel=1e-3)
    assert result["exact"][0] == pytest.approx(trend[0], rel=0.1)
    assert result["exact"][-1] > 5.0 * trend[-1]
    assert result["weak"][:2].tolist() == [0.0, 0.0]


def the_time_has_tangents_at_wide_doors_kinks_and_steep_slopes_at_narrow_ones(result):
    slopes = result["slopes"]
    for exact, difference in slopes.values():
        assert exact == pytest.approx(difference, rel=1e-4, abs=1e-5)
    widths, times = (np.asarray(x) for x in plt.gcf().axes[0].lines[0].get_data())
    assert np.isnan(times[widths < 0.85]).any()  # blocked by an arch
    for at in (1.2, 1.26):
        near = np.abs(widths - at) < 0.025
        trend = np.polyfit(widths[near], times[near], 1)[0]
        assert slopes[at][0] == pytest.approx(trend, rel=0.3)
    assert slopes[1.345][0] < 2.0 * slopes[1.35][0] < 0.0  # person 14, and then person 12
    assert slopes[0.96][0] > 100.0  # and the time falls with the width


def the_region_that_stays_is_eroded(result):
    small, middle, large = result["shares"].values()
    assert 0.5 > small > middle > large > 0.1
    late = result["periods"][np.isfinite(result["periods"])]
    assert 0.1 < late.min() < 1.0


CHECKS = {
    "gradients/door_width.py": the_time_has_tangents_at_wide_doors_kinks_and_steep_slopes_at_narrow_ones,
    "gradients/hopper.py": tangents_lead_to_the_wanted_flow_early_and_nowhere_late,
    "gradients/fit_to_film.py": the_fit_finds_the_mass_and_the_restitution,
    "gradients/push.py": exact_gradients_find_the_push_and_a_tape_does_not,
    "friction/angle_of_repose.py": heaps_are_steeper_with_more_friction_and_none_is_left_without,
    "friction/janssen.py": the_force_in_the_silo_saturates,
    "friction/drum.py": the_drum_lifts_its_grains_and_they_come_down_in_avalanches,
    "friction/column_collapse.py": columns_spread_and_rolling_resistance_stops_them,
    "friction/tumbling_clump.py": the_clump_turns_over_and_keeps_energy_and_momentum,
    "venel_2009/projections.py": the_numerical_projection_is_inside_and_further,
    "venel_2009/labyrinth.py": the_ball_reaches_its_target_and_enters_no_hole,
    "venel_2009/crowd.py": nobody_overlaps_and_everyone_leaves,
    "venel_2009/many_evacuations.py": the_band_falls_and_who_slows_down_leaves_later,
    "paoli_2005_2010/corners_inelastic.py": obtuse_corners_let_shots_slide_out,
    "paoli_2005_2010/corners_elastic.py": a_right_angle_sends_all_shots_back_and_sixty_degrees_do_not,
    "paoli_2005_2010/pendulum.py": the_first_angle_never_passes_the_vertical,
    "paoli_2005_2010/bifurcations.py": the_period_doubles_where_it_should,
    "paoli_2005_2010/impact_oscillator.py": the_orbit_of_the_oscillator_doubles_where_it_should,
    "paoli_2005_2010/escape.py": the_region_that_stays_is_eroded,
    "paoli_2005_2010/basins.py": starts_end_on_an_orbit_of_one_period_or_of_six,
    "bernicot_lefebvre_2010/spheres.py": spheres_do_not_overlap,
    "bernicot_lefebvre_2010/growing.py": discs_grow_into_a_jam,
    "bernicot_lefebvre_2010/gluey.py": contacts_push_and_then_pull,
    "bourdin_maury_2020/fig01_wall.py": velocities_lie_between_a_slide_and_a_mirror_image,
    "bourdin_maury_2020/fig02_hyperstatic.py": fourteen_discs_have_one_contact_too_many,
    "bourdin_maury_2020/fig03_lattices.py": lattices_fill_what_the_paper_says,
    "bourdin_maury_2020/fig04_no_maximum_principle.py": the_middle_would_pull_and_opens,
    "bourdin_maury_2020/fig06_two_blocks.py": only_across_the_axes_something_moves_across,
    "bourdin_maury_2020/fig07_kernel.py": the_pressures_balance_on_every_grain,
    "bourdin_maury_2020/fig08_cells.py": grains_do_not_approach_after_the_impact,
    "bourdin_maury_2020/fig09_two_solutions.py": two_motions_solve_the_same_problem,
    "bourdin_maury_2020/fig10_cradle.py": touching_discs_share_and_others_pass_on,
    "bourdin_maury_2020/oblique_blocks.py": three_routes_agree_and_lattices_do_not,
    "bourdin_maury_2020/people_and_density.py": the_density_leaves_faster_than_people_and_nobody_is_lost,
    "bourdin_maury_2020/fig11_polar_cones.py": the_parts_are_orthogonal_and_add_up,
    "bourdin_maury_2020/cradle_study.py": laws_differ_and_gaps_decide,
    "bourdin_maury_2020/two_solutions_of_four.py": both_motions_of_each_pair_are_solutions_and_others_are_not,
}


def test_every_program_of_the_gallery_is_checked():
    assert {path.relative_to(GALLERY).as_posix() for path in GALLERY.rglob("*.py")} == set(CHECKS)


LONG = {
    "venel_2009/crowd.py", "venel_2009/many_evacuations.py", "paoli_2005_2010/basins.py", "paoli_2005_2010/escape.py",
    "paoli_2005_2010/bifurcations.py", "paoli_2005_2010/impact_oscillator.py",
    "bourdin_maury_2020/fig09_two_solutions.py",
    "bourdin_maury_2020/oblique_blocks.py", "bourdin_maury_2020/people_and_density.py",
    "bourdin_maury_2020/two_solutions_of_four.py", "friction/angle_of_repose.py", "friction/janssen.py",
    "friction/drum.py", "friction/column_collapse.py", "friction/tumbling_clump.py",
    "gradients/fit_to_film.py", "gradients/push.py", "gradients/hopper.py", "gradients/door_width.py",
    "paoli_2005_2010/corners_inelastic.py", "paoli_2005_2010/pendulum.py", "bourdin_maury_2020/cradle_study.py",
}  # fmt: skip
"""Programs that take a second or more; `make docs` and `make test-all` run them."""


@pytest.mark.parametrize("name", [whole(name) if name in LONG else name for name in CHECKS])
def test_program_of_the_gallery(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plt.close("all")  # what other tests left open
    try:
        result = runpy.run_path(str(GALLERY / name))
        assert plt.get_fignums(), "no picture"
        CHECKS[name](result)
    finally:
        plt.close("all")


def test_programs_of_the_gallery_use_names_that_exist():
    """Also the programs that only `make test-all` runs."""
    programs = {name: (GALLERY / name).read_text(encoding="utf-8") for name in CHECKS}
    assert {name: unknown for name, text in programs.items() if (unknown := unknown_names(text))} == {}


def test_unknown_names_and_keywords_are_found():
    program = "import jostle as jo\nfrom jostle.viz import no\njo.solve(p, nope=1)\njo.viz.none(1)\njo.Maury().any"
    assert unknown_names(program) == ["jostle.viz.no", "jo.solve(nope=)", "jo.viz.none"]


def test_programs_of_the_gallery_are_short_and_say_which_paper_they_are_from():
    for path in GALLERY.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 80, path.name
        assert max(map(len, text.splitlines())) <= 90, path.name  # so that the pages show whole lines
        assert path.parent.name.split("_")[0] in text.split('"""')[1].lower(), path.name
