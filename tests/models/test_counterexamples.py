"""Problems with two solutions: both motions satisfy the conditions, and a wrong one does not."""

from dataclasses import replace

import numpy as np
import pytest

import jostle as jo


def test_p61_both_inelastic_motions_are_solutions():
    pair = jo.models.two_inelastic_motions()
    assert max(max(errors) for errors in pair.check(2.0**-20, 64.0)) < 1e-13
    assert pair.first.q([0.0, 1.0]).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(pair.first.q(2.0), 0.06875, rtol=1e-14)
    np.testing.assert_allclose(pair.first.u(2.0), -0.35, rtol=1e-14)
    np.testing.assert_allclose([pair.second.q(1.0), pair.second.u(1.0)], [0.0171875, -0.175], rtol=1e-13)
    np.testing.assert_allclose(pair.first.changes(3.0, 3.9), [3.57449979984], atol=1e-11)
    t = np.geomspace(1e-6, 4.0, 50)
    np.testing.assert_allclose(pair.second.q(t), 4.0 * pair.first.q(t / 2.0), rtol=1e-12, atol=1e-30)


@pytest.mark.parametrize(("e", "speed", "top"), [(0.5, 0.8, 0.32), (1.0, 2.0 / 3.0, 2.0 / 9.0), (0.3, 2 / 2.3, None)])
def test_p62_rest_and_bouncing_are_solutions(e, speed, top):
    pair = jo.models.two_motions_with_restitution(e)
    assert max(max(errors) for errors in pair.check(2.0**-20, 64.0)) < 1e-13
    assert not pair.first.q(np.linspace(0.0, 4.0, 99)).any()
    np.testing.assert_allclose(pair.second.u(1.0), speed, rtol=1e-14)
    if top:
        np.testing.assert_allclose(pair.second.q(1.0 + speed), top, rtol=1e-13)
    np.testing.assert_allclose(pair.second.u(2.0 - 1e-12), -2.0 * speed / e, rtol=1e-9)
    with pytest.raises(jo.InvalidValue, match="two_inelastic_motions"):
        jo.models.two_motions_with_restitution(0.0)


@pytest.mark.whole
def test_p63_both_motions_under_a_smooth_force_are_solutions():
    pair = jo.models.two_motions_under_a_smooth_force()
    assert max(max(errors) for errors in pair.check()) < 1e-10
    np.testing.assert_allclose([pair.first.q(0.28), pair.first.u(0.28)], [1.2584106682e-07, -0.00011863324], rtol=1e-8)
    np.testing.assert_allclose(
        [pair.second.q(0.28), pair.second.u(0.28)], [2.5955256725e-07, 0.000252523433], rtol=1e-8
    )


def test_motions_that_are_no_solutions_are_found_out():
    pair = jo.models.two_inelastic_motions()
    twice = replace(pair, force=lambda t: 2.0 * pair.force(t))
    assert twice.check()[0].momentum > 1e-3
    assert replace(pair, force=lambda t: 1.6).check()[0].pull > 1e-3
    bounces = jo.models.two_motions_with_restitution(0.5)
    assert replace(bounces, e=0.6).check()[1].law > 1e-3
    assert replace(bounces, e=0.6).check()[0].law == 0.0
    low = replace(pair.first, parabolas=pair.first.parabolas - np.array([0.01, 0.0, 0.0]))
    assert replace(pair, first=low).check()[0].overlap > 1e-2
    fast = replace(pair.first, parabolas=pair.first.parabolas * np.array([1.0, 2.0, 1.0]))
    assert replace(pair, first=fast).check()[0].position > 1e-3
