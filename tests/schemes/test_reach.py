"""How far bodies are expected to go in a step, which decides what contacts are looked for first."""

import numpy as np
import pytest

from jostle.schemes.reach import first_reach


@pytest.mark.parametrize("shape", [(1,), (1, 2), (3, 2)])
def test_bodies_that_were_pushed_are_expected_to_be_pushed_again(shape):
    """They were found in a second search in each step where bodies have one reach together."""
    still, pushed = np.zeros(shape), np.full(shape, 2.0)
    assert np.min(first_reach(0.1, still, pushed)) == np.min(first_reach(0.1, pushed, still)) > 0.2
    assert np.max(first_reach(0.1, still, still)) == 0.0
