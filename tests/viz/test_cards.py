"""Results show themselves in notebooks: a table, whatever state they are in."""

import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import jostle as jo


def shown(result):
    """The rows of the table; the text is well-formed."""
    return {row[0].text: row[1].text for row in ElementTree.fromstring(result._repr_html_()).iter("tr")}


@pytest.fixture(scope="module")
def one_step():
    return jo.solve(jo.Motion(q0=[[0.0, 0.0], [3.0, 0.0]], within=jo.Balls([1.0, 1.0])), jo.Maury(), t=0.1, h=0.1)


def in_place_of(sol, q):
    """The solution with other places, and without its problem."""
    return replace(sol, problem=None, scheme=None, q=q, u=np.zeros_like(q), radii=np.ones(q.shape[1]), order=2)


def test_a_solution_tells_how_it_ended(pile):
    rows = shown(pile)
    assert rows["status"] == "finished: reached the end time"
    assert (rows["scheme"], rows["bodies"], rows["saved frames"]) == ("Maury", "24 in dimension 2", "21")
    assert (rows["steps"], rows["time"]) == ("100, h = 0.01", "0 to 1")
    assert rows["worst residual"] == (f"{pile.residual:.1e}" if pile.residual else "0")
    assert "not converged" not in rows


def test_steps_that_failed_are_counted(pile):
    stats = pile.stats.copy()
    stats["converged"][:3] = False
    assert shown(replace(pile, stats=stats, status="not converged"))["not converged"] == "3 steps"


def test_bodies_in_space_are_counted(two_balls):
    rows = shown(two_balls)
    assert rows["bodies"] == "2 in dimension 3"


def test_bodies_that_have_left_are_not_counted_at_the_end(leaving):
    rows = shown(leaving)
    assert rows["bodies"] == "3 in dimension 3, 1 at the end"


def test_a_single_body_that_touches_nothing_has_no_overlap():
    ball = jo.Motion(q0=[0.0, 1.0], v0=[1.0, 0.0], within=jo.HalfSpace([0, 1]))
    rows = shown(jo.solve(ball, jo.Maury(), t=0.1, h=0.01))
    assert (rows["bodies"], rows["worst overlap"]) == ("1 in dimension 2", "none")


def test_a_file_is_named_and_one_that_was_removed_is_still_a_table(pile, tmp_path):
    path = jo.io.write(pile, tmp_path / "a <b> & c.vtkhdf")
    sol = jo.io.read(path)
    rows = shown(sol)
    assert rows["file"] == "a <b> & c.vtkhdf"
    path.unlink()
    rows = shown(sol)
    assert rows["saved frames"] == "21"
    assert rows["note"] == f"there is no file {path}"


@pytest.mark.parametrize(
    "q",
    [
        np.zeros((2, 0, 2)),
        np.full((2, 3, 2), np.nan),
        np.full((2, 3, 2), np.inf),
        np.array([[[0.0, 0.0], [1e308, -1e308]]] * 2),
        np.array([[[0.0, 0.0], [np.nan, 1.0], [5.0, 5.0]]] * 2),
        np.zeros((2, 4, 2)),
        np.zeros((2, 3, 5)),
        np.zeros((2, 7)),
        np.zeros((2, 1)),
        np.zeros((2, 0)),
    ],
    ids=["none", "nan", "infinite", "far", "some nan", "one place", "5-d", "7 numbers", "1 number", "no numbers"],
)
def test_odd_states_have_a_card(one_step, q):
    rows = shown(in_place_of(one_step, q))
    assert rows["status"].startswith("finished")


def test_a_run_without_steps_or_frames_has_a_card(one_step):
    rows = shown(replace(one_step, stats=one_step.stats[:0]))
    assert "steps" not in rows
    nothing = in_place_of(one_step, np.zeros((0, 2, 2)))
    rows = shown(replace(nothing, t=np.zeros(0), stats=one_step.stats[:0], status="failed"))
    assert rows["status"] == "failed: ended by an error"
    assert repr(replace(nothing, t=np.zeros(0))).startswith("Solution(finished: 1 step, nothing saved")


def test_a_plan_names_its_openings():
    rooms = [[(0, 0), (6, 0), (6, 4), (0, 4)], [(6, 0), (12, 0), (12, 4), (6, 4)]]
    exits = {"<b>east</b> & co": ((12, 1), (12, 1.5)), "west": ((0, 1), (0, 2))}
    plan = jo.crowds.Plan(rooms, exits=exits, doors=[((6, 1), (6, 2))], columns=[(3, 3, 0.3)])
    rows = shown(plan)
    assert rows["exits"] == "<b>east</b> & co (0.50 m), west (1.00 m)"
    assert (rows["size"], rows["doors"], rows["columns"]) == ("12 m by 4 m", "door 0 (1.00 m)", "1")
    assert repr(plan) == "Plan(47.72 m², exits '<b>east</b> & co', 'west', 10 walls, 1 door, 1 column)"
    many = {f"exit {k}": ((k, 0), (k + 0.5, 0)) for k in range(9)}
    hall = jo.crowds.Plan([(0, 0), (10, 0), (10, 4), (0, 4)], exits=many)
    assert shown(hall)["exits"].endswith("exit 5 (0.50 m) and 3 more")
    assert repr(hall).startswith("Plan(40 m², exits 'exit 0', ")
    assert "'exit 6'" not in repr(hall)


def test_a_projection_shows_its_residuals():
    found = jo.project([-2.0, 1.0], jo.convex.Cone([[1.0, 0.0]]))
    rows = shown(found)
    assert (rows["status"], rows["solver"], rows["rows"]) == ("converged", "ActiveSet", "1, 1 with a multiplier")
    failed = replace(found, residual=jo.convex.Residual(np.nan, np.inf, 3.0), converged=False, remark="a < b")
    rows = shown(failed)
    assert (rows["status"], rows["dual residual"], rows["remark"]) == ("not converged", "inf", "a < b")
    large = replace(found, point=np.zeros((500, 2)))
    assert repr(large).endswith("1 iteration of ActiveSet, residual 0.0e+00, 1 row, point shape (500, 2))")


def test_contacts_name_the_smallest_gap():
    q = np.array([[0.0, 0.0], [2.0, 0.0], [3.9, 0.0], [9.0, 9.0]])
    contacts = jo.Balls(np.ones(4)).linearise(0.0, q)
    rows = shown(contacts)
    assert (rows["rows"], rows["parts"], rows["closed"]) == ("6", "4", "2")
    assert rows["smallest gap"] == "-0.1, balls 1 and 2"
    nothing = contacts.only(np.zeros(0, dtype=np.int64))
    assert shown(nothing)["rows"] == "0"
    assert repr(nothing) == "Contacts(rows: 0, parts: 4)"
    broken = replace(contacts, gap=np.full(6, np.nan))
    assert shown(broken)["not finite"] == "6 gaps"


def test_a_density_has_a_card(density_run):
    _, run = density_run
    rows = shown(run)
    assert (rows["scheme"], rows["cells"]) == ("Splitting", "16 by 8, side 0.25")
    broken = replace(run, density=np.full(run.density.shape, np.nan))
    assert shown(broken)["status"].startswith("finished")


def test_cards_need_no_matplotlib():
    program = (
        "import sys, jostle as jo; found = jo.project([-2.0], jo.convex.Cone([[1.0]]));"
        "print(len(found._repr_html_()) > 100, 'matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
