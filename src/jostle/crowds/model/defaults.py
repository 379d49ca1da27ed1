"""What people are if nobody says it: in Python, in scenario files and on the command line."""

from __future__ import annotations

RADIUS = 0.2
"""Radius of a person (m)."""
SPEED = 1.34
"""Desired speed of a person (m/s): the mean of Weidmann 1993."""
BEHAVIOUR = "pedestrians"
"""Name of the behaviour in `BEHAVIOURS`."""
