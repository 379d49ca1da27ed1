"""Answers about crowds on the command line: figures of an evacuation, as lines and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jostle.result.solution import Solution

JAMS_SHOWN = 4
"""Largest number of jams that are printed as lines; JSON has all of them."""


def answers(sol: Solution) -> dict[str, Any]:
    """The answers about a run of people; empty for other bodies, and for runs without the necessary facts.

    >>> import jostle as jo
    >>> answers(jo.solve(jo.models.rack(), jo.Maury(), t=0.1, h=0.1))
    {}
    """
    from jostle.crowds import crowd_summary
    from jostle.errors import MissingPackage
    from jostle.io.crowd_runs import plan_of

    if plan_of(sol) is None:
        if sol.facts.groups is not None and sol.order == 1:
            return {"note": "the plan is not in this file, so neither exits nor densities are known"}
        return {}
    try:
        return {"crowd": crowd_summary(sol).rows()}
    except MissingPackage as error:
        return {"note": f"no answers about the crowd: {error}"}


def lines(crowd: dict[str, Any]) -> dict[str, str]:
    """The answers as names and texts, one per line.

    >>> found = lines({"people": 3, "inside_at_end": 1, "exits": {}, "jams": [], "blocked": True, "blockade": "held"})
    >>> found["people"], found["blocked"]
    ('3, of whom 1 is inside at the end', 'held')
    """
    from jostle.crowds.summary import LONGEST_INTERVAL

    inside = crowd["inside_at_end"]
    whom = "all have left" if not inside else f"of whom {inside} {'is' if inside == 1 else 'are'} inside at the end"
    found = {"people": f"{crowd['people']}, {whom}"}
    if crowd.get("never_inside"):
        count = crowd["never_inside"]
        found["never inside"] = f"{count} people: they found no free place, or the run ended before they came"
    if crowd.get("evacuation_time_95") is not None:
        last = crowd.get("evacuation_time")
        end = f"the last after {last:.1f} s" if last is not None else "not all of them"
        found["evacuation time"] = f"95 % after {crowd['evacuation_time_95']:.1f} s, {end}"
    interval = crowd.get("time_between_frames", 0.0)
    if interval > LONGEST_INTERVAL * (1.0 + 1e-9):
        found["accuracy"] = (
            f"frames are {interval:.3g} s apart: times are known to about {interval:.3g} s, exits and flows are "
            f"estimates; save more frames with every = {LONGEST_INTERVAL:g} in [run]"
        )
    for name, use in crowd["exits"].items():
        text = f"{use['people']} people"
        if use["people"]:
            text += f" from {use['first']:.1f} to {use['last']:.1f} s"
        if use["flow"] is not None:
            text += f", {use['flow']:.2f} people/s, {use['specific_flow']:.2f} people/s/m"
        found[f"exit {name}"] = f"{text} ({use['width']:g} m wide)"
    if crowd.get("left_elsewhere"):
        found["left elsewhere"] = f"{crowd['left_elsewhere']} people left the plan without crossing an exit"
    if crowd.get("worst_density") is not None:
        where = crowd["worst_density_at"]
        found["worst density"] = (
            f"{crowd['worst_density']:.1f} people/m² near ({where['x']:.1f}, {where['y']:.1f}) at {where['t']:.1f} s, "
            f"level of service {crowd['level_of_service']} of walkways"
        )
    if crowd.get("mean_time_loss") is not None:
        found["time loss"] = f"{crowd['mean_time_loss']:.1f} s on average, at most {crowd['largest_time_loss']:.1f} s"
    for number, jam in enumerate(crowd["jams"][:JAMS_SHOWN]):
        found["jams" if number == 0 else f"jam {number + 1}"] = (
            f"up to {jam['people']} people at {jam['at']}, from {jam['start']:.1f} to {jam['end']:.1f} s"
        )
    if not crowd["jams"]:
        found["jams"] = "none"
    if len(crowd["jams"]) > JAMS_SHOWN:
        found["more jams"] = str(len(crowd["jams"]) - JAMS_SHOWN)
    if crowd["blocked"]:
        found["blocked"] = crowd["blockade"]
    elif "standstill" in crowd:
        found["standstill"] = crowd["standstill"]
    return found
