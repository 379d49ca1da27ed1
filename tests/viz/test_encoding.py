"""The page as a file: it holds what was computed, asks nobody for anything, and is as small as one wishes."""

import base64
import json
import re

import numpy as np
import pytest

import jostle as jo
from jostle.io.hdf5 import reading
from jostle.viz import page, serve
from jostle.viz.scene import Scene


def data(path):
    """What is written into a page: about, and the bytes of its frames."""
    text = path.read_text()
    about = json.loads(re.search('<script id="about"[^>]*>(.*?)</script>', text, re.DOTALL)[1])
    frames = re.search('<script id="frames"[^>]*>(.*?)</script>', text, re.DOTALL)[1].split()
    return about, [base64.b64decode(frame) for frame in frames]


HEAD = 72


def head(raw):
    """What a frame says of itself: t, m, c, w, step, fast, low."""
    return np.frombuffer(raw, "<f8", 9)


def places(about, raw):
    """(m, d) as the page reads them."""
    (_, m, _, _, step, _, *low), d = head(raw), about["d"]
    m = int(m)
    skip = HEAD + (0 if m == about["n"] else 4 * m)
    kind = "<u2" if about["small"] else "<f4"
    stored = np.frombuffer(raw, kind, m * d, skip).reshape(m, d).astype(float)
    return np.array(about["origin"][:d]) + low[:d] + step * stored


def test_places_are_those_of_the_solution(pile, tmp_path):
    about, frames = data(page(pile, tmp_path / "pile.html"))
    assert about["times"] == [head(raw)[0] for raw in frames] == pile.t.tolist()
    for k, raw in enumerate(frames):
        assert places(about, raw) == pytest.approx(pile.q[k], abs=1e-5)


def test_places_far_from_zero_are_as_precise(tmp_path):
    far = jo.Motion(q0=[[1e7, 0.0], [1e7 + 0.25, 0.0]], within=jo.Balls([0.1, 0.1]))
    sol = jo.solve(far, jo.Maury(), t=0.1, h=0.1)
    about, frames = data(page(sol, tmp_path / "far.html"))
    assert places(about, frames[0]) == pytest.approx(sol.q[0], abs=1e-7)


def test_a_page_that_must_be_smaller_rounds_and_then_leaves_out_frames(pile, tmp_path):
    whole = page(pile, tmp_path / "whole.html").stat().st_size
    about, frames = data(page(pile, tmp_path / "small.html", most_bytes=whole - 1000))
    assert about["small"]
    assert len(about["times"]) == len(pile.t)
    fewer = whole - sum(map(len, frames))
    path = page(pile, tmp_path / "few.html", most_bytes=fewer)
    about, frames = data(path)
    t = np.array(about["times"])
    assert path.stat().st_size <= fewer
    assert 1 < len(t) < len(pile.t)
    assert (t[0], t[-1]) == (pile.t[0], pile.t[-1])
    assert np.diff(t).max() <= np.diff(t).min() + 0.051
    assert f"{len(t)} of the 21 saved frames" in path.read_text()
    for raw in frames:
        k = int(np.abs(pile.t - head(raw)[0]).argmin())
        assert places(about, raw) == pytest.approx(pile.q[k], abs=0.003)


def test_places_are_not_rounded_where_that_would_show(tmp_path):
    wide = jo.Motion(q0=[[0.0, 0.0], [1e4, 0.0]], within=jo.Balls([0.1, 0.1]))
    sol = jo.solve(wide, jo.Maury(), t=3.0, h=0.01)
    whole = page(sol, tmp_path / "whole.html").stat().st_size
    about, _ = data(page(sol, tmp_path / "wide.html", most_bytes=5 * whole // 6))
    assert not about["small"]
    assert len(about["times"]) < len(sol.t)


def test_a_page_that_cannot_be_so_small_is_refused(pile, tmp_path):
    with pytest.raises(jo.InvalidValue, match="most_bytes must be at least") as error:
        page(pile, tmp_path / "none.html", most_bytes=10_000)
    assert not (tmp_path / "none.html").exists()
    enough = int(re.search("at least (\\d+)", str(error.value))[1])
    assert len(data(page(pile, tmp_path / "one.html", most_bytes=enough))[1]) >= 1


def test_those_who_are_there_have_their_numbers(leaving, tmp_path):
    about, frames = data(page(leaving, tmp_path / "leaving.html"))
    assert head(frames[-1])[1] == 1
    assert np.frombuffer(frames[-1], "<u4", 1, HEAD).tolist() == [2]
    assert places(about, frames[-1]) == pytest.approx(leaving.q[-1][2:], abs=1e-5)


def test_a_title_is_text_whatever_is_in_it(pile, tmp_path):
    title = "</title><script>alert(1)</script> & @frames@"
    text = page(pile, tmp_path / "title.html", title=title).read_text()
    assert text.count("alert(1)") == 2
    assert text.count("<script>alert") == 0
    assert text.count("@frames@") == 2


def test_the_page_names_no_address(pile, tmp_path):
    text = page(pile, tmp_path / "pile.html").read_text()
    assert not re.search(r"(src|href)=\"(?!data:)|https?:|//[a-z]+\.|@import|url\(|fetch\(|XMLHttp|import\(", text)
    assert "default-src 'none'" in text


def test_walls_that_move_are_written_for_each_frame(tmp_path):
    piston = jo.HalfSpace([1.0, 0.0], offset=lambda t: t - 5.0, radii=1.0)
    ball = jo.Motion(q0=[[0.0, 0.0], [3.0, 0.0]], within=jo.Balls([1.0, 1.0]) & piston)
    about, frames = data(page(jo.solve(ball, jo.Maury(), t=2.0, h=1.0), tmp_path / "piston.html"))
    assert about["walls"] is None
    at = [np.frombuffer(raw[-16:], "<f4")[0] + about["origin"][0] for raw in frames]
    assert at == pytest.approx([-5.0, -4.0, -3.0], abs=1e-5)


def test_radii_that_change_are_written_for_each_frame(tmp_path):
    swell = jo.Motion(q0=[[0.0, 0.0], [9.0, 0.0]], within=jo.Balls(lambda t: np.array([1.0, 2.0]) + t))
    about, frames = data(page(jo.solve(swell, jo.Maury(), t=1.0, h=0.5), tmp_path / "swell.html"))
    assert about["radii"] is None
    assert [np.frombuffer(raw, "<f4", 2, HEAD + 32).tolist() for raw in frames] == [[1.0, 2.0], [1.5, 2.5], [2.0, 3.0]]


@pytest.mark.parametrize("name", ["pile.vtkhdf", "pile", "pile.html.gz"])
def test_a_page_is_an_html_file(pile, tmp_path, name):
    with pytest.raises(jo.InvalidValue, match=rf"the name of a page must end in \.html or \.htm, not be '{name}'"):
        page(pile, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    assert page(pile, tmp_path / "PILE.HTM").exists()


def test_a_page_does_not_replace_what_it_shows(pile, tmp_path):
    path = jo.io.write(pile, tmp_path / "pile.vtkhdf").rename(tmp_path / "pile.html")
    (tmp_path / "link.html").symlink_to(path)
    before = path.read_bytes()
    for target in (path, tmp_path / "link.html"):
        with pytest.raises(jo.InvalidValue, match="is the trajectory itself, which a page would replace"):
            page(path, target)
    assert path.read_bytes() == before


def test_a_page_of_a_file_is_that_of_its_solution(pile, tmp_path):
    path = jo.io.write(pile, tmp_path / "pile.vtkhdf", dtype=float)
    for given in (path, str(path)):
        about, frames = data(page(given, tmp_path / "pile.html"))
        assert about["times"] == [head(raw)[0] for raw in frames] == pile.t.tolist()
        for k, raw in enumerate(frames):
            assert places(about, raw) == pytest.approx(pile.q[k], abs=1e-5)
    with pytest.raises(jo.InvalidValue, match=r"the path of a trajectory file or an Evolution.*, not 3"):
        page(3, tmp_path / "pile.html")


def test_frames_of_a_file_are_the_same_read_one_by_one_or_many_at_once(leaving, tmp_path):
    scene = Scene(jo.io.read(jo.io.write(leaving, tmp_path / "leaving.vtkhdf"), leaving.problem))
    numbers = [0, 1, 1, 3, *range(4, 21)]
    for some in (numbers, range(21), [-2, -1], [5]):
        for k, frame in zip(some, scene.frames(list(some)), strict=True):
            alone = scene.frame(k)
            assert (frame.k, frame.t) == (alone.k, alone.t)
            for name in ("number", "x", "u", "radii", "force"):
                np.testing.assert_array_equal(getattr(frame, name), getattr(alone, name))
            np.testing.assert_array_equal(frame.bars.force, alone.bars.force)


def test_a_file_is_not_opened_for_each_frame(tmp_path, monkeypatch):
    ball = jo.Motion(q0=[[0.0, 1.0]], force=[[0.0, -10.0]], within=jo.HalfSpace([0.0, 1.0]))
    sol = jo.io.read(jo.io.write(jo.solve(ball, jo.Maury(), t=2.0, h=0.01), tmp_path / "ball.vtkhdf"), ball)
    opened = []
    monkeypatch.setattr("jostle.io.reading.reading", lambda *a, **k: opened.append(a) or reading(*a, **k))
    told = []
    page(sol, tmp_path / "ball.html", progress=told.append)
    assert len(opened) < 160  # of the 201 frames with six arrays each
    assert [(drawn.step, drawn.steps) for drawn in told] == [(k, 201) for k in range(1, 202)]


@pytest.mark.parametrize(
    ("quantities", "words"),
    [
        ([1, 2], r"must be a mapping of names to numbers, \{'age': ages\}, not \[1, 2\]"),
        ({3: np.ones(24)}, "must be a mapping of names to numbers"),
        ({"a": ["x"] * 24}, "'a' must be real numbers, one per body, not"),
        ({"a": 1j * np.ones(24)}, "'a' must be real numbers"),
        ({"a": [1j] * 24}, "'a' must be real numbers"),
        ({"a": [[1], [1, 2]]}, "'a' must be real numbers"),
        ({"a": lambda k: ["x"] * 24}, "'a' must be real numbers"),
    ],
)
def test_quantities_that_are_no_numbers_are_refused(pile, tmp_path, quantities, words):
    with pytest.raises(jo.InvalidValue, match=words):
        page(pile, tmp_path / "pile.html", quantities=quantities)
    with pytest.raises(jo.InvalidValue, match=words):
        serve(pile, quantities=quantities)
    assert list(tmp_path.iterdir()) == []
