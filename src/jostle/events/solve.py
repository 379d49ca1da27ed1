"""`solve_by_events`: from impact to impact, without time steps.

`parabolas` integrates motions under constant forces, `smooth` all others. All closed contacts that do not separate take
part in Moreau's law together. With e < 1 infinitely many impacts can happen in a finite time; their limit is computed
from the geometric sequence of the flight times, and the motion continues from there.
"""

from __future__ import annotations

from jostle._tools.arguments import Count, check_arguments
from jostle.errors import InvalidValue, NotConverged, UnresolvedEvent
from jostle.events.parabolas import ParabolicRun, has_parabolas
from jostle.events.run import EventRun
from jostle.events.smooth import SmoothRun
from jostle.events.solution import EventSolution
from jostle.problems import Motion
from jostle.result.status import FAILED, FINISHED
from jostle.run.steps import Span, start_and_end
from jostle.schemes.checks import check_resolution
from jostle.schemes.state import State


@check_arguments
def solve_by_events(problem: Motion, *, t: Span, max_events: Count = 100_000) -> EventSolution:
    """Integrate the motion of few bodies from impact to impact, without time steps.

    Under a constant force, with one mass per body or coordinate, inside a set at rest made of `HalfSpace`, `Box`,
    `Balls` and `Line`, the motion consists of parabolas and impact times are exact to round-off. Balls that stay in
    contact while they move along each other do not follow parabolas; they are an `UnresolvedEvent`.

    Other forces f(t, q, u), masses M(q), walls that move, `Outside`, `Inside`, `Rods` and `@constraints`
    are integrated to about 1e-10 (Runge-Kutta of order 8 with a relative error of 1e-12 per step), to about 1e-8 where
    contacts or equalities without ``gradient=`` hold. They must be smooth between impacts, also a little before the
    start and after the end. How fast walls move is found from how their gaps vary, whatever the end of the run. Walls
    that move are sampled at 2000 times or more, and at least 15 times in each period of an oscillation; a contact that
    closes and opens again between two of them can be missed.

    Rods and other equalities hold at all times. They have no restitution, and impacts do not list them.

    Each event costs time in proportion to the number of pairs of bodies.

    A start velocity that points out of the set is an impact at the start. The part of v0 that violates equalities is
    lost before, without an impact. Overlaps of q0 that count as round-off are removed.

    Impacts that accumulate are computed one by one until their limit is near (1e-8 of their longest flight), or the
    bounces that are left are as low as round-off. The limit is in `accumulations`; in the short time before it the
    contacts are taken as closed. Sequences in which more than
    six impacts take turns, or that have no period, end where gap rates are round-off (1.4e-14 of the largest velocity
    so far), and are not listed.

    Where several contacts have impacts in ever shorter times, round-off may decide their order. Motions of parabolas
    with several impacts at the same time are therefore computed twice, the second time with gaps and gap rates that
    count as zero only if they are eight times smaller. If the two motions differ, the motion is an `UnresolvedEvent`
    that says from when on. This finds nearly all motions that hang on rounding, but proves nothing about the others.

    Parameters
    ----------
    problem : Motion
        The motion of at most 200 bodies, whose law has one number e.
    t : float or pair of float
        End time; the motion starts at time 0. A pair (t0, t1): start and end time. A run of no time is its start.
    max_events : int, default 100000
        Largest number of events.

    Returns
    -------
    EventSolution
        Positions and velocities as functions of time, with `events` and `accumulations`.

    Raises
    ------
    SchemeRefuses
        If the problem has more than 200 bodies, a law without one number e, or anything else that is not
        supported.
    InfeasibleStart
        If q0 is not in the admissible set, or violates an equality.
    UnresolvedEvent
        If an event cannot be computed safely, or there are more than `max_events` events; ``error.solution`` holds the
        motion until then.

    Examples
    --------
    >>> import jostle as jo, numpy as np
    >>> ball = jo.Motion(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> sol = jo.solve_by_events(ball, t=2.0)
    >>> [event.t for event in sol.events[:3]], [round(limit.t, 12) for limit in sol.accumulations]
    ([0.5, 1.0, 1.25], [1.5])
    >>> sol.q([0.75, 1.125, 2.0]).ravel().round(12).tolist()
    [0.3125, 0.078125, 0.0]
    >>> jo.solve_by_events(jo.models.double_pendulum(), t=1.0).events[0].t.__round__(10)
    0.4565225691
    >>> rod = jo.Rods([(0, -1)], 1.0, points=[[0.0, 0.0]])
    >>> pendulum = jo.solve_by_events(jo.Motion(q0=[[0.0, -1.0]], v0=[[1.0, 0.0]], within=rod), t=np.pi / 6.0)
    >>> pendulum.q(np.pi / 6.0).round(10).tolist()
    [[0.5, -0.8660254038]]
    """
    return integrated(problem, t, int(max_events)).solution(FINISHED)


def integrated(problem: Motion, t: Span, max_events: int) -> EventRun:
    """The finished integration of a motion, with its flights; errors carry the solution until then."""
    if not isinstance(problem, Motion):
        raise InvalidValue(f"problem must be a jo.Motion, not {problem!r}")
    start, end = start_and_end(t)
    run = (ParabolicRun if has_parabolas(problem) else SmoothRun)(problem, start, end, max_events)
    check_resolution(problem, State(start, problem.pose0, problem.w0))
    try:
        if end > start:
            run.integrate()
            run.check_round_off()
    except UnresolvedEvent as error:
        error.time, error.solution = run.t, run.solution(FAILED)
        raise
    except NotConverged as error:
        unresolved = UnresolvedEvent(f"t = {run.t:.15g}: the impact or the contact forces cannot be computed: {error}")
        unresolved.time, unresolved.solution = run.t, run.solution(FAILED)
        raise unresolved from error
    return run
