"""Friction: the theorems of the papers do not cover it, and the reports say what is left."""

import numpy as np
import pytest

import jostle as jo
from jostle.theory.report import FAILS, HOLDS, UNKNOWN

PAPERS = ("Bernicot & Lefebvre-Lepot 2010, Theorem 1.3", "Paoli 2005, Theorem 1.1", "Paoli 2010")


def disc(law, **more):
    """A disc of radius 1 that is thrown along a floor."""
    within = jo.Balls([1.0]) & jo.HalfSpace([0.0, 1.0])
    return jo.Motion(q0=[[0.0, 1.0]], v0=[3.0, 0.0], force=[0.0, -10.0], within=within, law=law, **more)


def dumbbell(law=None):
    """A dumbbell that lies on a floor with both balls."""
    within = jo.Clumps([([[-1.0, 0.0], [1.0, 0.0]], 0.5)]) & jo.HalfSpace([0.0, 1.0])
    return jo.Motion(q0=[[0.0, 0.5]], v0=[1.0, 0.0], force=[0.0, -10.0], within=within, law=law)


def section(report, title):
    return next(one for one in report.sections if one.title.startswith(title))


@pytest.mark.parametrize("law", [jo.Coulomb(0.5), jo.laws.ConvexFriction(0.5)], ids=["Coulomb", "convex"])
def test_no_theorem_of_the_papers_is_promised_with_friction(law):
    report = jo.theory.hypotheses(disc(law))
    for title in PAPERS:
        assert "not promised" in section(report, title).summary
        assert "mu = 0" in section(report, title).summary


@pytest.mark.parametrize("law", [jo.Restitution(0.0), jo.Coulomb(0.0)], ids=["Restitution", "Coulomb"])
def test_without_friction_the_report_has_no_line_about_it(law):
    report = jo.theory.hypotheses(disc(law))
    assert [one.title for one in report.sections][:3] == list(PAPERS)
    assert "mu = 0" not in [line.name for line in report]
    assert section(report, PAPERS[0]).summary.startswith("holds")


def test_a_step_of_coulombs_law_exists_and_need_not_be_unique():
    report = jo.theory.hypotheses(disc(jo.Coulomb(0.5)))
    assert section(report, "Coulomb").summary.endswith("each step has a solution")
    assert report["existence"].verdict == HOLDS
    assert report["existence"].values["delta"] == pytest.approx(1.0, abs=1e-6)  # the disc moves up at 1
    assert report["uniqueness"].verdict == FAILS
    assert report["convergence"].verdict == UNKNOWN


def test_a_step_of_the_convex_law_is_unique():
    report = jo.theory.hypotheses(disc(jo.laws.ConvexFriction(0.5)))
    assert section(report, "The convex law").verdict == HOLDS
    assert report["uniqueness"].verdict == HOLDS


@pytest.mark.parametrize(("mu", "verdict"), [(0.5, HOLDS), (0.6, UNKNOWN)])
def test_a_wedge_that_jams_has_no_opening_velocity(mu, verdict):
    """Two walls at 60 degrees from each other jam a point if mu > tan 30 = 0.577."""
    walls = jo.HalfSpace([np.cos(np.pi / 6), np.sin(np.pi / 6)]) & jo.HalfSpace([-np.cos(np.pi / 6), np.sin(np.pi / 6)])
    wedge = jo.Motion(
        q0=[[0.0, 0.0]], force=[0.0, -1.0], inertia=1.0, within=jo.Clumps([([[0.0, 0.0]], 0.0)]) & walls,
        law=jo.Coulomb(mu),
    )  # fmt: skip
    assert jo.theory.hypotheses(wedge)["existence"].verdict == verdict


@pytest.mark.parametrize(("law", "title"), [(None, "Bodies that turn"), (jo.Coulomb(0.3), "Coulomb")])
def test_clumps_have_a_section_about_their_steps_alone(law, title):
    report = jo.theory.hypotheses(dumbbell(law))
    assert [one.title.startswith(title) for one in report.sections] == [True]
    assert report["existence"].verdict == HOLDS


def test_hypotheses_along_a_solution_with_friction():
    report = jo.theory.hypotheses(jo.solve(disc(jo.Coulomb(0.5)), jo.Maury(), t=0.5, h=0.05))
    assert report["existence"].verdict == HOLDS
    along = jo.theory.hypotheses(jo.solve(dumbbell(jo.Coulomb(0.3)), jo.Maury(), t=0.2, h=0.05))
    assert along["existence"].verdict == HOLDS


@pytest.mark.each_value
@pytest.mark.parametrize(
    "problem", [disc(jo.Coulomb(0.5)), disc(jo.Coulomb(0.5), spin0=40.0), dumbbell(jo.Coulomb(0.3))]
)
@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean()], ids=["Maury", "MoreauJean"])
def test_a_solution_with_friction_keeps_what_can_be_checked(problem, scheme):
    report = jo.theory.promises(jo.solve(problem, scheme, t=0.5, h=0.05))
    assert [line.name for line in report if line.verdict == FAILS] == []
    assert report["momentum"].values["residual"] <= 1e-9
    assert report["friction"].verdict == HOLDS
    assert report["friction"].values["mobilised"] > 0
    assert report["impact law"].verdict == UNKNOWN


def test_friction_beyond_its_limit_is_found():
    sol = jo.solve(disc(jo.Coulomb(0.5)), jo.Maury(), t=0.5, h=0.05)
    weaker = disc(jo.Coulomb(0.25))
    assert jo.theory.promises(sol, weaker)["friction"].verdict == FAILS
