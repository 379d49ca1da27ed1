"""The report of a crowd: one page that has everything inside."""

import re

import pytest

import jostle as jo
from plain import crowd

pytest.importorskip("shapely")
SCENARIO = """
title = "Two <groups> in a corridor"
[problem]
kind = "crowd"
rooms = [{ corners = [[0, 0], [8, 0], [8, 2], [0, 2]] }]
exits = [{ name = "west", ends = [[0, 0], [0, 2]] }, { name = "east", ends = [[8, 0], [8, 2]] }]
groups = [
    { name = "adults", places = [[2, 0.5], [3, 1.5], [4, 1.0]], goal = "east" },
    { name = "children", places = [[0.6, 1.0]], goal = "west", radius = 0.15, speed = 1.0 },
]
[run]
t = 10.0
h = 0.05
"""


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """The file of a run, and the text of its report."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "a.toml").write_text(SCENARIO)
    from jostle.cli import main

    for command in (["run", "a.toml", "-o", "a.vtkhdf", "-q"], ["report", "a.vtkhdf"]):
        words = [str(folder / word) if word.startswith("a.") else word for word in command]
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert not ended.value.code
    return folder / "a.vtkhdf", (folder / "a.html").read_text(encoding="utf-8")


def test_the_report_has_answers_tables_assumptions_and_versions(reported):
    _, html = reported
    assert "<title>Two &lt;groups&gt; in a corridor</title>" in html
    text = re.sub(r"<[^>]+>", " ", html)
    expected = ["4 people, all have left", "adults", "children", "east", "west", "version of jostle", "Voronoi density"]
    expected += ["Not known: the file contains no contacts", "0.15 to 0.2 m", "kind = &quot;crowd"]
    expected += ["TimeGap(T=0.7, T_file=1, strip=1), Repulsion(strength=2, decay=0.1), Quickest(own=0.8"]
    expected += ["reaction times"]
    for words in expected:
        assert words in text, words
    assert html.count('<img alt="') == 7


def test_the_report_needs_no_network_and_is_small(reported):
    _, html = reported
    assert len(html) < 3_000_000
    outside = re.findall(r"""(?:src|href)=["']?https?:""", html)
    assert outside == []
    assert 'srcdoc="' in html
    assert 'sandbox="allow-scripts"' in html


def test_a_blocked_run_says_so_first(tmp_path, only_words):
    plan = jo.crowds.Plan([(0, 0), (5, 0), (5, 4), (0, 4)], exits={"<gate>": ((5, 1.75), (5, 2.25))})
    q0 = [[4.0, 1.78], [4.0, 2.22]]
    two = crowd(2, radius=0.2, room=plan, q0=q0, wish=lambda t, q: [1.0, 0.0])
    sol = jo.solve(two, jo.Venel(), t=12.0, h=0.1, every=0.5)
    html = jo.viz.report(sol, tmp_path / "a.html", film=False).read_text(encoding="utf-8")
    assert '<p class="verdict bad">2 people, 2 still inside at t = 11.2 s. Blocked: nobody has moved on since' in html
    assert "blocks exit &#x27;&lt;gate&gt;&#x27;: wall - " in html
    assert "<gate>" not in html  # a name is never markup
    assert "Helbing, Farkas &amp; Vicsek" in html
    with pytest.raises(jo.InvalidValue, match="most_bytes = 1000"):
        jo.viz.report(sol, tmp_path / "b.html", film=False, most_bytes=1000)
    assert not (tmp_path / "b.html").exists()


def test_runs_that_are_no_crowds_are_refused(tmp_path):
    sol = jo.solve(jo.models.rack(), jo.Maury(), t=0.1, h=0.1)
    with pytest.raises(jo.InvalidValue, match="give the plan"):
        jo.viz.report(sol, tmp_path / "a.html")


def test_the_report_fits_a_screen_and_its_film_shows_people(reported, tab_of):
    file, _ = reported
    tab = tab_of(file.with_suffix(".html").as_uri(), size=(1280, 900), offline=True)
    for width in (1280, 390):
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
    frame = tab.frame_locator("iframe")
    frame.locator("#play, button").first.wait_for()
