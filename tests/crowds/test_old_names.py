"""Names that moved from `jostle.models` to `jostle.crowds` are still found in their old place, with a warning."""

import pytest

import jostle as jo

MOVED = [
    "AvoidJams", "Crowd", "FreeWish", "Journey", "Link", "Plan", "Room", "TIME_GAP", "Wish", "crowd", "following",
    "inhibition", "walk",
]  # fmt: skip


@pytest.mark.parametrize("name", MOVED)
def test_a_name_that_moved_is_found_in_its_old_place_with_a_warning_that_names_the_new_one(name):
    with pytest.warns(DeprecationWarning, match=rf"jo\.models\.{name} has moved: use jo\.crowds\.{name}$"):
        old = getattr(jo.models, name)
    assert old is getattr(jo.crowds, name)


def test_a_name_that_never_was_in_models_is_an_attribute_error_without_a_warning():
    with pytest.raises(AttributeError, match=r"module 'jostle\.models' has no attribute 'croud'"):
        _ = jo.models.croud


def test_names_that_moved_are_not_offered_by_their_old_place():
    assert not set(MOVED) & set(jo.models.__all__)
