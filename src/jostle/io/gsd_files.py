"""Exports for HOOMD, OVITO and freud: .gsd."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.errors import MissingPackage
from jostle.io.exports import pictures
from jostle.io.pictures import points_of
from jostle.result.solution import Solution


def write_gsd(sol: Solution, path: Path) -> None:
    """Write bodies without contacts: log/time is the time, log/particles/body the body number, types are groups.

    Bodies that turn have an orientation and log/particles/spin; a clump is several particles with one body number.
    """
    try:
        import gsd.hoomd
    except ImportError:
        raise MissingPackage("a .gsd file needs the package gsd: pip install 'jostle[export]'") from None

    facts = sol.facts
    count, d = points_of(sol.q.shape[1:], facts.dimension)
    names, kinds = _types(sol, count)
    masses = None if facts.masses is None or len(facts.masses) != count else facts.masses
    far = np.zeros(3)
    for _, picture in pictures(sol):
        reach = np.abs(picture.points) + picture.radius[:, None]
        far = np.maximum(far, reach.max(axis=0, initial=0.0))
    sides = np.where(far > 0.0, 2.0 * far, 1.0)
    with gsd.hoomd.open(str(path), "w") as file:
        for step, (t, picture) in enumerate(pictures(sol)):
            frame = gsd.hoomd.Frame()
            frame.configuration.step = step
            frame.configuration.dimensions = 3 if d == 3 else 2
            frame.configuration.box = [*sides, 0.0, 0.0, 0.0]
            particles = frame.particles
            particles.N, particles.types = len(picture.body), names
            particles.typeid = kinds[picture.body]
            if masses is not None:
                particles.mass = masses[picture.body]
            particles.position, particles.velocity = picture.points, picture.velocity
            particles.diameter = 2.0 * picture.radius
            frame.log = {"time": np.array([t]), "particles/body": picture.body}
            if "orientation" in picture.more:
                particles.orientation, frame.log["particles/spin"] = picture.more["orientation"], picture.more["spin"]
            if facts.clumped is not None:
                particles.body = picture.body
            file.append(frame)


def _types(sol: Solution, count: int) -> tuple[list[str], NDArray[Any]]:
    """The names of the groups, and the group of each body; the last group contains all other bodies."""
    groups = sol.facts.groups
    if groups is None or len(groups.number) != count:
        return ["A"], np.zeros(count, dtype=np.uint32)
    names = [*groups.names, "A"]
    return names, (groups.number % len(names)).astype(np.uint32)
