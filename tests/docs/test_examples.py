"""Every example runs as a user would run it, and prints a number that is right."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import jostle as jo
from names import unknown_names
from rows import whole

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return runpy.run_path(str(EXAMPLES / name))


def a_ball_bounces_at_the_times_of_the_closed_form(result):
    fall, e, g = np.sqrt(2 / 9.81), 0.8, 9.81
    flights = 2 * e ** np.arange(1, 3) * np.sqrt(2 * g) / g
    late = result["sol"].impacts().t - (fall + np.concatenate([[0], np.cumsum(flights)]))
    h = 1e-3  # the first impact is seen within two steps, and each delays the next by two more (P03)
    assert (late >= 0).all()
    assert (late <= 2 * h * np.arange(1, 4)).all()


def touching_balls_share_and_distant_ones_pass_on(result):
    assert result["touching"].u[-1] == pytest.approx([-0.6, 0.4, 0.4, 0.4, 0.4], abs=1e-9)
    assert result["apart"].u[-1] == pytest.approx([0, 0, 0, 0, 1], abs=1e-9)


def the_marble_slides_along_the_wall_and_never_enters_a_hole(result):
    assert result["sol"].q[-1, 0] == pytest.approx(6.0, abs=1e-9)
    assert result["sol"].gaps().min() >= -1e-9


def everyone_leaves_without_overlap(result):
    assert result["sol"].status == "stopped"
    assert result["sol"].gaps().min() >= -1e-8 * 0.25


def spheres_come_to_rest_without_overlap(result):
    sol = result["sol"]
    assert sol.gaps().min() >= -1e-8
    assert sol.energy().kinetic[-1] < 0.01 * sol.energy().kinetic.max()


def the_pile_carries_its_weight(result):
    sol, h = result["sol"], result["sol"].stats["h"][-1]
    floor = (sol.pairs[-1][:, 1] == -2) & (sol.pairs[-1][:, 0] >= 0)
    weight = -sol.problem.constant_force[:, 1].sum()
    momentum = sol.problem.mass.mass.reshape(-1, 2)[:, 1] @ sol.u[-1][:, 1]
    assert sol.multipliers[-1][floor].sum() / h == pytest.approx(weight, rel=0.05)
    assert abs(momentum) < 0.05 * weight
    assert sol.gaps().min() >= -1e-9
    assert Path("pile.png").stat().st_size > 20_000


def sand_runs_out_and_stays_in_the_glass(result):
    sol, left = result["sol"], result["left"]
    assert left[0] == 120
    assert (np.diff(left) <= 0).all()
    assert 60 < left[-1] < 110
    assert sol.stats["primal"].max() <= 1e-5
    assert 0.0 < sol.stats["overshoot"].max() < 0.1


def the_three_laws_lose_different_energies(result):
    after = result["after"]
    assert after["Square"].lost == pytest.approx(0.32, abs=1e-9)
    assert after["Isotropic"].lost < after["Square"].lost < after["Triangular"].lost
    assert max(found.residual.worst for found in after.values()) <= 1e-6


def fourteen_discs_have_four_forces_too_many(result):
    found, p, hit = result["found"], result["p"], result["hit"]
    assert (found.velocities, found.contacts, found.rank, found.dependent) == (28, 29, 25, 4)
    assert np.abs(hit.velocity).max() <= 1e-6
    assert (p.upper - p.lower).max() == pytest.approx(3.0, abs=1e-6)
    assert np.isfinite(p.upper).all()
    assert not p.unique.any()


def the_middle_contact_would_pull_if_it_were_glued_and_opens_if_not(result):
    found, middle, glued, hit = (result[name] for name in ("found", "middle", "glued", "hit"))
    assert glued[middle] == pytest.approx(1 - 5 / np.sqrt(3), abs=1e-12)
    assert (result["rates"] > 0).all()
    assert hit.impulse[middle] == pytest.approx(0.0, abs=1e-9)
    assert result["discs"].cone.slack(hit.velocity)[middle] == pytest.approx((5 * np.sqrt(3) - 3) / 2, abs=1e-9)
    assert found.maximum_principle is False
    assert result["density"] is True


def the_hexagon_has_pressures_that_move_nothing(result):
    q, cone = result["q"], result["lattice"].cone
    assert np.abs(cone.G.adjoint(q)).max() <= 1e-12 * np.abs(q).max()
    assert np.abs(q).max() > 1
    assert result["room"] > 0.01
    assert result["kernels"] == [(19, 7), (61, 37), (127, 91)]


CHECKS = {
    "bouncing_ball.py": a_ball_bounces_at_the_times_of_the_closed_form,
    "cradle.py": touching_balls_share_and_distant_ones_pass_on,
    "labyrinth.py": the_marble_slides_along_the_wall_and_never_enters_a_hole,
    "crowd.py": everyone_leaves_without_overlap,
    "spheres.py": spheres_come_to_rest_without_overlap,
    "hourglass.py": sand_runs_out_and_stays_in_the_glass,
    "two_blocks.py": the_three_laws_lose_different_energies,
    "pile.py": the_pile_carries_its_weight,
    "hyperstatic.py": fourteen_discs_have_four_forces_too_many,
    "maximum_principle.py": the_middle_contact_would_pull_if_it_were_glued_and_opens_if_not,
    "kernel.py": the_hexagon_has_pressures_that_move_nothing,
}


LONG = {"pile.py", "hourglass.py"}
"""Examples that take two seconds or more."""


def test_every_example_is_checked():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(CHECKS)


@pytest.mark.parametrize("name", [whole(name) if name in LONG else name for name in CHECKS])
def test_example(name, tmp_path, monkeypatch):
    CHECKS[name](run(name, tmp_path, monkeypatch))


def test_examples_use_names_that_exist():
    """Also those that only `make test-all` runs."""
    programs = {path.name: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.py")}
    assert {name: unknown for name, text in programs.items() if (unknown := unknown_names(text))} == {}


def test_examples_fit_on_a_screen():
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text().splitlines()) <= 40, path.name


def test_a_building_of_two_drawings_empties_by_its_stairs():
    few = [f"problem.groups.{k}.{said}" for k in (0, 1) for said in ("n=3", "reaction=0.0", "speed=1.34")]
    few += ['problem.behaviour={ kind = "plain" }', "run.h=0.2"]
    scenario = jo.scenarios.load(EXAMPLES / "two_storeys" / "building.toml", settings=few)
    sol = jo.solve(**scenario.build()._asdict())
    assert sol.status == "stopped"
    assert (sol.q[0][:, 0] > 55.0).tolist() == [True] * 3 + [False] * 3
    assert sum(use.count for use in jo.crowds.exit_use(sol).values()) == 6
    assert sol.t[-1] > 7.0 / 0.694  # seven metres of steps at the speed on stairs
