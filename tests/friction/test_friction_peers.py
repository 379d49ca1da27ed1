"""The measures of benchmarks/friction_peers.py are zero where Coulomb's law holds; each program is read rightly."""

import sys
from pathlib import Path

import numpy as np
import pytest

import jostle as jo

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import friction_peers as peers

STEPS = 20


def looked(scene, program):
    """The residuals of the step after the scene has been stacked."""
    for _ in range(STEPS):
        program.step()
    before = program.u()
    return peers.residuals(scene, *program.look(), before)


PROGRAMS = [
    pytest.param(lambda it: peers.Jostle(it, jo.Automatic(tol=1e-8)), None, id="jostle"),
    pytest.param(lambda it: peers.Pymunk(it, 100), "pymunk", id="pymunk"),
    pytest.param(lambda it: peers.Mujoco(it, 'cone="elliptic"'), "mujoco", id="mujoco"),
]


def stack(d):
    """Three balls of different sizes, one of them in the hollow between the others, on a floor between walls."""
    q0 = np.array([[1.05, 1.0], [3.1, 1.0], [2.1, 2.8]]) * peers.RADIUS
    walls = [([0.0, 1.0], 0.0), ([1.0, 0.0], 0.0), ([-1.0, 0.0], -4.2 * peers.RADIUS)]
    gravity = np.array([0.0, -peers.GRAVITY])
    if d == 3:
        q0, gravity = np.insert(q0, 1, 0.0, axis=1), np.insert(gravity, 1, 0.0)
        walls = [([n[0], 0.0, n[1]], offset) for n, offset in walls]
    return peers.Scene(
        q0, np.array([1.0, 1.0, 0.95]) * peers.RADIUS, np.array([1.0, 2.0, 1.5]), walls, gravity, 0.1, 0.1
    )


@pytest.mark.parametrize("d", [2, 3], ids=["discs", "spheres"])
@pytest.mark.parametrize(("make", "package"), PROGRAMS)
def test_the_impulses_that_a_program_reports_are_those_that_moved_its_bodies(make, package, d):
    """A wrong sign, unit, frame or order of the two bodies would leave momentum over."""
    if package is not None:
        pytest.importorskip(package, reason=f"{package} is a peer of the benchmarks, see benchmarks/peers.txt")
    if (package, d) == ("pymunk", 3):
        pytest.skip("pymunk has two dimensions")
    found = looked(stack(d), make(stack(d)))
    assert found["balance"] < 1e-6
    assert found["cone"] < 1e-6


def test_jostle_satisfies_the_law_in_every_measure():
    found = looked(stack(2), peers.Jostle(stack(2), jo.Automatic(tol=1e-8)))
    assert all(found[name] < 1e-6 for name in ("normal", "friction", "natural"))


@pytest.mark.parametrize("d", [2, 3])
def test_a_ball_that_slides_obeys_the_law_only_if_friction_opposes_its_slip(d):
    normal, tangent = np.eye(d)[[d - 1]] * -1.0, np.eye(d)[[0]]
    radius, h = peers.RADIUS, peers.H
    scene = peers.Scene(np.zeros((1, d)), np.array([radius]), np.ones(1), [], np.zeros(d), 0.1, 0.1)
    moving = peers.Moving(np.zeros((1, d)), tangent, np.zeros(1 if d == 2 else (1, 3)))
    pressed = peers.GRAVITY * h

    def natural(friction, gap=0.0):
        impulse = pressed * normal + friction * peers.MU * pressed * tangent  # on the wall
        contacts = peers.Contacts(np.array([0]), np.array([-1]), normal, np.array([gap]), impulse, radius * normal)
        return peers.residuals(scene, contacts, moving, np.zeros((1, d)))

    right = natural(1.0)
    assert max(right[name] for name in ("cone", "normal", "friction", "natural")) < 1e-12
    assert natural(0.5)["friction"] > 0.1, "less friction than the cone allows, although it slides"
    assert natural(-1.0)["natural"] > 0.1, "friction that pushes"
    assert natural(2.0)["cone"] == pytest.approx(peers.MU)
    assert natural(1.0, gap=1e-3)["normal"] == pytest.approx(1e-3 / h / pressed), "an impulse across a gap"


def test_the_wall_rests():
    scene = peers.wall_of_discs(3, 0.3, 0.3)
    found = peers.measured(scene, peers.Jostle(scene, jo.Automatic(tol=1e-4)))
    assert found["missed"] == 0
    assert found["resting_overlap"] <= 1e-4
    assert found["worst_creep"] < 60 * 2.5e-5, "a contact may slide by a quarter of the tolerance in each step"
