"""Curved walls in space as surfaces of revolution: vessels, balls and bowls, which pictures show as glass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jostle.arrays import Array
from jostle.shapes import BALL, BOWL, VESSEL, Shape

LATITUDES = 25
"""Points of the profile of a ball, from pole to pole."""
SMOOTH_EDGE = 0.7
"""Where the cosine of the angle between two pieces of a profile is larger, the surface looks smooth."""


class Revolved(NamedTuple):
    """A profile (radius, height), (m, 2), that turns around an axis, a unit vector, through the base."""

    base: Array
    axis: Array
    profile: Array


class Patches(NamedTuple):
    """Quadrilaterals of a surface: rows along the profile, columns around the axis."""

    corners: Array
    """(rows, columns, 4, 3) in the order around each patch."""
    normals: Array
    """(rows, columns, 3) unit vectors in the middle of each patch."""


def surfaces(shapes: Sequence[Shape]) -> list[Revolved]:
    """The curved walls among the shapes in space.

    >>> import jostle as jo
    >>> from jostle.shapes import shapes_of
    >>> [bucket] = surfaces(shapes_of(jo.Vessel([(0, 0), (1, 0), (1, 2)]) & jo.HalfSpace([0, 0, 1]), 0.0))
    >>> bucket.profile.tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]]
    """
    found = []
    for kind, points in shapes:
        if points.shape[1] != 3:
            continue
        if kind == VESSEL:
            found.append(Revolved(points[0], points[1], points[2:, :2]))
        elif kind in (BALL, BOWL):
            angle = np.linspace(-np.pi / 2.0, np.pi / 2.0, LATITUDES)
            profile = points[1, 0] * np.stack([np.abs(np.cos(angle)), np.sin(angle)], axis=1)
            found.append(Revolved(points[0], np.array([0.0, 0.0, 1.0]), profile))
    return found


def patches(surface: Revolved, around: int = 60, along: int = 2) -> Patches:
    """The surface as quadrilaterals, cut around the axis and along each piece of the profile.

    Normals turn evenly along the profile, except at sharp edges.

    >>> tube = patches(Revolved(np.zeros(3), np.eye(3)[2], np.array([[1.0, 0.0], [1.0, 2.0]])), around=8, along=1)
    >>> tube.corners.shape, float(np.linalg.norm(tube.normals[0, 0, :2]).round(9))
    ((1, 8, 4, 3), 1.0)
    """
    ends = np.stack([surface.profile[:-1], surface.profile[1:]], axis=1)
    ends = ends[np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) > 0.0]
    way = ends[:, 1] - ends[:, 0]
    across = np.stack([way[:, 1], -way[:, 0]], axis=1) / np.linalg.norm(way, axis=1, keepdims=True)
    before, after = np.roll(across, 1, axis=0), np.roll(across, -1, axis=0)
    before[0], after[-1] = across[0], across[-1]
    turned = [
        np.where((other * across).sum(axis=1, keepdims=True) > SMOOTH_EDGE, other + across, 2.0 * across)
        for other in (before, after)
    ]
    part = np.linspace(0.0, 1.0, along + 1)
    edges = ends[:, :1] + part[None, :, None] * (ends[:, 1:] - ends[:, :1])  # (pieces, along + 1, 2)
    middle = ((part[1:] + part[:-1]) / 2.0)[None, :, None]
    normal = ((1.0 - middle) * turned[0][:, None] + middle * turned[1][:, None]).reshape(-1, 2)
    lower, upper = edges[:, :-1].reshape(-1, 2), edges[:, 1:].reshape(-1, 2)
    first, second = np.linalg.svd(surface.axis[None])[2][1:]
    angle = np.linspace(0.0, 2.0 * np.pi, around + 1)
    ring = np.outer(np.cos(angle), first) + np.outer(np.sin(angle), second)
    mid_ring = np.outer(np.cos((angle[1:] + angle[:-1]) / 2.0), first)
    mid_ring += np.outer(np.sin((angle[1:] + angle[:-1]) / 2.0), second)

    def placed(flat: Array, turns: Array) -> Array:
        return np.asarray(flat[:, None, :1] * turns[None] + flat[:, None, 1:] * surface.axis)

    corners = [placed(flat, turns) for flat, turns in (
        (lower, ring[:-1]), (lower, ring[1:]), (upper, ring[1:]), (upper, ring[:-1])
    )]  # fmt: skip
    normals = placed(normal, mid_ring)
    return Patches(surface.base + np.stack(corners, axis=2), normals / np.linalg.norm(normals, axis=2, keepdims=True))
