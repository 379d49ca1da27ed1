"""Sets made of other sets: none of them forgets to pass on what their parts say."""

import pytest

import jostle as jo
from jostle.sets.base import Combination, ConstraintSet

FROM_LINEARISE = {"near", "in_motion", "gaps", "margins", "gap", "overlap", "nearest", "check_start"}
"""Members of a set that follow from its linearised constraints."""
FROM_OTHERS = {"recalls", "memory"}
"""Members that follow from others, which are combined."""
OF_THE_PARTS = {"radii_of_bodies", "takes_radii", "with_radii", "remembers", "on_devices"}
"""Members that each part is asked for, or that are the same for all sets."""
OF_THE_KIND = {"linearise", "part"}
"""Members that each kind of combination defines."""


def members(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


def test_a_combination_answers_for_every_member_of_a_set():
    both = jo.Balls([1.0, 1.0]) & jo.HalfSpace([0.0, 1.0])
    answered = set(vars(both)) | set(vars(Combination)) | FROM_LINEARISE | FROM_OTHERS | OF_THE_PARTS | OF_THE_KIND
    assert members(ConstraintSet) <= answered


@pytest.mark.parametrize("kind", [*Combination.__subclasses__()], ids=lambda kind: kind.__name__)
def test_each_kind_of_combination_defines_its_constraints(kind):
    assert set(vars(kind)) >= OF_THE_KIND
