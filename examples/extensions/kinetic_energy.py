"""A colour: the kinetic energy of each body, for pictures, films and the viewer."""

import jostle as jo

LENGTH_TIME_MASS = (2, -2, 1)
"""Exponents of length, time and mass in the unit of energy, for the colour bar."""


def energy(frame):
    """One number for each body of the frame."""
    return 0.5 * frame.mass * frame.speed**2


def lacks(scene):
    """Why a run cannot be coloured by it; an empty text if it can."""
    return "needs masses, and none are known" if scene.facts.masses is None else ""


NAME = "kinetic energy"
QUANTITY = jo.viz.Quantity("energy", energy, NAME, LENGTH_TIME_MASS, low=0.0, lacks=lacks)
jo.viz.QUANTITIES.register("energy", QUANTITY)  # jo.viz.draw(sol, colour="energy")
