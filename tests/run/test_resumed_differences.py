"""Runs within sets that are differenced: what the differences remember belongs to the run, and survives a resume."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jostle as jo
from jostle.errors import BrokenFile
from jostle.io.checkpoint import read_whole, write_whole

H = 0.01


def wavy(amplitude):
    """Above a wavy floor whose curvature changes along the way, so that differences search for a step several times."""

    @jo.constraints(convex=False, moving=False)
    def floor(t, q):
        return [q[1] - amplitude * np.sin(3.0 * q[0]) * np.exp(-q[0]), 40.0 - q[0] ** 2]

    return floor


def sliding(*sets):
    within = sets[0]
    for other in sets[1:]:
        within = within & other
    return jo.Motion(q0=[0.1, 0.3], v0=[1.5, 0.0], force=[0.3, -9.81], within=within)


MAKE = {
    "one set": lambda: sliding(wavy(0.3)),
    "two sets and a wall": lambda: sliding(wavy(0.3), jo.HalfSpace([1.0, 0.0], -0.5), wavy(0.31)),
}


@pytest.mark.each_value
@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
@pytest.mark.parametrize("scheme", [jo.Paoli(), jo.MoreauJean()], ids=lambda scheme: type(scheme).__name__)
def test_a_resumed_run_in_a_set_without_a_gradient_has_the_same_bits(make, scheme, tmp_path):
    whole = jo.solve(make(), scheme, t=0.5, h=H)
    for end in (0.07, 0.31, 0.32, 0.5):
        rest = jo.solve(make(), scheme, t=end, h=H, output=jo.io.Output(checkpoint=tmp_path / "c", resume=end > 0.1))
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()
    assert rest.u[-1].tobytes() == whole.u[-1].tobytes()


def test_what_looks_at_a_set_between_two_steps_does_not_change_the_run(tmp_path):
    """A checkpoint looks at the gaps whenever a second has passed, `until` and `progress` where the user likes."""
    watched = sliding(wavy(0.3))

    def look(progress):
        watched.within.linearise(0.0, np.array([3.0, 7.0 * progress.t]))

    every_step = jo.io.Output(checkpoint=tmp_path / "c", seconds=0.0)
    seen = jo.solve(watched, jo.MoreauJean(), t=0.5, h=H, progress=look, output=every_step)
    alone = jo.solve(sliding(wavy(0.3)), jo.MoreauJean(), t=0.5, h=H)
    assert seen.q.tobytes() == alone.q.tobytes()


def test_runs_in_threads_within_one_set_have_the_bits_of_one_alone():
    shared = sliding(wavy(0.3))
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda k: jo.solve(shared, jo.MoreauJean(), t=0.12, h=H).q.tobytes(), range(3)))
    assert found == [jo.solve(sliding(wavy(0.3)), jo.MoreauJean(), t=0.12, h=H).q.tobytes()] * 3


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """What the checkpoint of a run contains."""
    path = tmp_path_factory.mktemp("kept") / "c"
    jo.solve(sliding(wavy(0.3)), jo.MoreauJean(), t=0.5, h=H, output=jo.io.Output(checkpoint=path))
    return read_whole(path)


@pytest.mark.parametrize(
    "damage",
    [
        {"within0.step": np.ones(1)},
        {"within0.step": -np.ones(2)},
        {"within0.noise": np.full(2, np.nan)},
        {"within0.radius": np.ones((2, 1))},
        {"within0.place": np.zeros((1, 2))},
    ],
    ids=lambda damage: "-".join(damage),
)
def test_remembered_steps_that_do_not_fit_are_refused(damage, kept, tmp_path):
    path = tmp_path / "c"
    write_whole(path, kept | damage)
    with pytest.raises(BrokenFile, match=r"is damaged.*within"):
        jo.solve(sliding(wavy(0.3)), jo.MoreauJean(), t=0.6, h=H, output=jo.io.Output(checkpoint=path, resume=True))


def test_a_checkpoint_without_remembered_steps_is_refused_where_the_set_has_some(tmp_path):
    path = tmp_path / "c"
    jo.solve(sliding(wavy(0.3)), jo.MoreauJean(), t=0.5, h=H, output=jo.io.Output(checkpoint=path))
    kept = {name: value for name, value in read_whole(path).items() if not name.startswith("within0.")}
    write_whole(path, kept)
    with pytest.raises(BrokenFile, match=r"is damaged.*within"):
        jo.solve(sliding(wavy(0.3)), jo.MoreauJean(), t=0.6, h=H, output=jo.io.Output(checkpoint=path, resume=True))
