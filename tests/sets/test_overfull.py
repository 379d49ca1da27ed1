"""The nearest point of sets that are too full: a proof where there is one, and an end in any case."""

import numpy as np
import pytest

import jostle as jo


def spheres(n, fraction, radius=0.3, first=1.0):
    """(q, Q): n spheres at random in a cube of which they fill a fraction; the first one has another radius."""
    side = (n * 4.0 / 3.0 * np.pi * radius**3 / fraction) ** (1.0 / 3.0)
    q, radii = np.random.default_rng(0).uniform(0.0, side, (n, 3)), np.full(n, radius)
    radii[0] *= first
    return q, jo.Balls(radii) & jo.Box([0.0] * 3, [side] * 3, radii=radii)


@pytest.mark.parametrize(("n", "side"), [(3000, 3.0), (400, 1.5)])
def test_balls_with_more_volume_than_their_box_are_an_empty_set_at_once(n, side, monkeypatch):
    """Without the volume, 3000 of them had not ended after two minutes."""
    monkeypatch.setattr(jo.Automatic, "project", lambda *_: pytest.fail("nothing has to be projected"))
    q = np.random.default_rng(0).uniform(0.0, side, (n, 3))
    Q = jo.Balls(np.full(n, 0.3)) & jo.Box([0.0] * 3, [side] * 3, radii=0.3)
    with pytest.raises(
        jo.errors.EmptySet, match=f"{n} balls have the volume .*, and the box that holds them has {side**3:g}"
    ):
        jo.nearest(q, Q)


def test_discs_with_more_area_than_their_periodic_cell_are_an_empty_set():
    q = np.random.default_rng(0).uniform(0.0, 8.0, (100, 2))
    with pytest.raises(
        jo.errors.EmptySet, match=r"100 balls have the area 78\.54, and the box that holds them has 64\."
    ):
        jo.nearest(q, jo.Balls(np.full(100, 0.5), period=8.0))
    channel = jo.Balls(np.full(100, 0.5), period=[8.0, np.inf]) & jo.Box([-np.inf, 0.0], [np.inf, 7.5], radii=0.5)
    with pytest.raises(jo.errors.EmptySet, match=r"has 60\."):
        jo.nearest(q, channel)


def test_equal_balls_that_fill_more_than_the_densest_packing_are_an_empty_set_at_once(monkeypatch):
    monkeypatch.setattr(jo.Automatic, "project", lambda *_: pytest.fail("nothing has to be projected"))
    q, Q = spheres(3000, 0.75)
    with pytest.raises(jo.errors.EmptySet, match=r"of which equal balls fill at most 0\.7405\. Take a larger box"):
        jo.nearest(q, Q)
    plane = np.random.default_rng(0).uniform(0.0, 9.2, (100, 2))
    with pytest.raises(
        jo.errors.EmptySet, match=r"100 balls have the area 78\.54, .* of which equal balls fill at most 0\.9069"
    ):
        jo.nearest(plane, jo.Balls(np.full(100, 0.5), period=9.2))


def test_the_densest_packings_are_not_refused():
    rows = 8
    x, y = np.meshgrid(np.arange(8.0), np.arange(float(rows)))
    discs = np.stack([x + 0.5 * (y % 2), np.sqrt(0.75) * y], axis=-1).reshape(-1, 2)
    Q = jo.Balls(np.full(64, 0.5), period=[8.0, rows * np.sqrt(0.75)])
    assert Q.gap(0.0, jo.nearest(discs * (1.0 + 1e-12), Q).point) >= -1e-9
    with pytest.raises(jo.NotConverged):  # the only point is hard to find, and there is no proof that there is none
        jo.nearest(discs + 1e-3 * np.random.default_rng(0).normal(size=discs.shape), Q)
    corners = np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]])
    cells = np.stack(np.meshgrid(*[2 * np.arange(3)] * 3), axis=-1).reshape(-1, 1, 3)
    balls = np.sqrt(0.5) * (cells + corners).reshape(-1, 3)
    Q = jo.Balls(np.full(len(balls), 0.5), period=6.0 * np.sqrt(0.5))
    assert Q.gap(0.0, jo.nearest(balls * (1.0 + 1e-12), Q).point) >= -1e-9


def test_unequal_balls_are_compared_with_the_whole_box():
    """One large disc among small ones: 0.99 of the area, which is no proof."""
    radii = np.append(np.full(99, 0.05), 1.0)
    area = np.pi * (radii**2).sum()
    for part, error in ((0.99, jo.NotConverged), (1.01, jo.errors.EmptySet)):
        side = np.sqrt(area / part)
        Q = jo.Balls(radii) & jo.Box([0.0, 0.0], [side, side], radii=radii)
        with pytest.raises(error):
            jo.nearest(
                np.random.default_rng(0).uniform(0.0, side, (100, 2)), Q, solver=jo.Automatic(max_iterations=100)
            )


def test_balls_may_reach_beyond_a_box_that_holds_only_their_centres():
    n = 70
    row = np.stack([0.99 * np.arange(n), np.full(n, 0.25)], axis=1)
    Q = jo.Balls(np.full(n, 0.5)) & jo.Box([-10.0, 0.0], [80.0, 0.5], radii=0.0)  # 45 of area for 55 of discs
    assert Q.gap(0.0, jo.nearest(row, Q).point) >= -1e-9


def test_balls_in_part_of_an_open_space_are_never_too_many():
    q = np.random.default_rng(0).uniform(0.0, 2.0, (70, 2))
    Q = jo.Balls(np.full(70, 0.3)) & jo.Box([0.0, 0.0], [2.0, np.inf], radii=0.3)
    with pytest.raises(jo.NotConverged):
        jo.nearest(q, Q, solver=jo.Automatic(max_iterations=1))


@pytest.fixture
def failed(monkeypatch):
    """The iterations of the projections that failed."""
    found, project = [], jo.Automatic.project

    def spied(self, *given):
        try:
            P = project(self, *given)
        except jo.errors.EmptySet as error:
            found.append(error.iterations)
            raise
        if not P.converged:
            found.append(P.iterations)
        return P

    monkeypatch.setattr(jo.Automatic, "project", spied)
    return found


@pytest.mark.parametrize("most", [100, 3000])
def test_a_search_takes_no_more_iterations_in_vain_than_one_projection_may(most, failed):
    """Four fifths of the volume are too many, and no theorem says so if radii differ: the search goes on."""
    q, Q = spheres(150, 0.8, first=1.01)
    with pytest.raises(jo.NotConverged, match=r"Automatic|given up after max_iterations"):
        jo.nearest(q, Q, solver=jo.Automatic(max_iterations=most))
    assert failed
    assert sum(failed[:-1]) < most  # the last one took what was left


def test_a_search_that_finds_contradictions_only_says_so_and_when_it_was_given_up():
    q, Q = spheres(150, 0.8, first=1.01)
    with pytest.raises(jo.NotConverged, match=r"no point of Q was found from the places of 150 bodies") as caught:
        jo.nearest(q, Q, solver=jo.Automatic(max_iterations=20_000))
    assert "given up after max_iterations = 20000 iterations" in str(caught.value)
    assert "does not prove that Q is empty" in str(caught.value)


def test_deep_overlaps_that_fit_are_moved_apart_as_before():
    q, Q = spheres(70, 0.1)
    P = jo.nearest(q, Q)
    assert P.converged
    assert Q.gap(0.0, P.point) >= -1e-9
