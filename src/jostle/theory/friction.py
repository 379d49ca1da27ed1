"""What is known about a step with friction: it has a solution, which need not be unique.

A step of Coulomb's law has a solution if some velocity opens every closed contact faster than mu times its sliding,
G v in the interior of K* (Acary, Cadoux, Lemarechal & Malick 2011). The shortest v with s_n - 1 >= mu |s_T|
is one convex projection. The convex law is a projection itself: its velocity exists if K is not empty, and is unique.
"""

from __future__ import annotations

import numpy as np

from jostle.bodies import Turning
from jostle.convex.linear_map import LinearMap
from jostle.convex.polyhedron import Polyhedron
from jostle.convex.rows import Cones
from jostle.errors import EmptySet, NotConverged
from jostle.laws import Coulomb
from jostle.problems import Motion
from jostle.schemes.grip import grip
from jostle.solvers.gauss_seidel import GaussSeidel
from jostle.solvers.project import project
from jostle.theory.places import Place
from jostle.theory.report import FAILS, HOLDS, UNKNOWN, Line, Section

COULOMB = "Coulomb's law (Acary, Cadoux, Lemaréchal & Malick 2011)"
CONVEX = "The convex law of friction (Anitescu 2006)"
FRICTIONLESS = "Bodies that turn, without friction"
TOLERANCE = 1e-6
"""Tolerance of the projection that finds a velocity that opens all contacts."""
MAX_SWEEPS = 20_000
"""Largest number of sweeps of this projection, which never ends if there is no such velocity."""


def steps_with_friction(here: Place, turning: Turning) -> Section:
    """What is known about a step from a place, for bodies that turn."""
    assert isinstance(here.problem, Motion)
    chosen = here.contacts.only(here.closed[here.contacts.pairs[here.closed, 0] >= 0])
    if len(chosen.gap) == 0:
        exists, unique = Line("existence", EXISTS, HOLDS, "no contact is closed", badness=-np.inf), True
    else:
        places = here.q.reshape(-1, here.problem.q0.shape[-1])
        G, cones = grip(here.problem, chosen, turning, here.t, places)
        exists, unique = _opening(here, G, cones), not (cones.coulomb and np.any(cones.mu))
    said = "one convex projection" if unique else "several velocities and impulses may solve the same step"
    law = here.problem.law
    title = FRICTIONLESS if not isinstance(law, Coulomb) else COULOMB if law.exact else CONVEX
    lines = (
        exists,
        Line("uniqueness", "the velocity after a step is unique", HOLDS if unique else FAILS, said, needed=False),
        Line("convergence", "the steps converge as h -> 0", UNKNOWN, MEASURE, needed=False),
    )
    return Section(title, "each step has a solution", lines)


EXISTS = "some velocity opens each closed contact faster than mu times its sliding"
MEASURE = "the papers treat neither friction nor spin; jo.theory.convergence measures it"


def _opening(here: Place, G: LinearMap, cones: Cones) -> Line:
    """The line whether a velocity opens all closed contacts in the cones, and how fast for its length."""
    problem = here.problem
    c = np.zeros((len(cones.mu), cones.height))
    c[:, : cones.axis.shape[1]] = -cones.axis
    K = Polyhedron(G, c.ravel(), cones=cones._replace(coulomb=False))
    M = problem.bodies.with_inertia(problem.metric(problem.q0), problem.q0.shape)
    try:
        found = project(np.zeros(G.shape[1]), K, mass=M, solver=GaussSeidel(tol=TOLERANCE, max_iterations=MAX_SWEEPS))
    except EmptySet as error:
        return Line("existence", EXISTS, FAILS, f"none was found, and a step may have no solution: {error}")
    except NotConverged:
        why = f"no such velocity was found in {MAX_SWEEPS} sweeps: contacts may be jammed"
        return Line("existence", EXISTS, UNKNOWN, why, badness=np.inf)
    delta = 1.0 / M.norm(found.point.ravel())
    return Line("existence", EXISTS, HOLDS, "at this q", {"delta": delta}, local=True, badness=-delta)
