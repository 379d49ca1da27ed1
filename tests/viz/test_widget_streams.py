"""The viewer in a notebook follows a run that goes on: frames are sent once, as they are saved."""

import base64
import time

import numpy as np
import pytest
from browsing import wait_until

import jostle as jo
from jostle import viz
from jostle.errors import FileIsThere
from jostle.io import Writer
from jostle.viz import streaming
from jostle.viz.streaming import Follower

MODEL = """async ([esm, about, frames, height]) => {
    const module = await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })));
    window.dataOf = (text) => {
        const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0)), held = new Uint8Array(bytes.length + 5);
        held.set(bytes, 5); // the comm may hand over a part of a larger buffer
        return new DataView(held.buffer, 5, bytes.length);
    };
    window.state = { about, frames: dataOf(frames), height };
    window.sent = [];
    const heard = {};
    window.model = {
        get: (name) => state[name],
        set: (name, value) => (state[name] = value),
        send: (content) => sent.push(content),
        on: (event, hear) => (heard[event] ??= []).push(hear),
        off: (event, hear) => (heard[event] = heard[event].filter((one) => one !== hear)),
        fire: (event, ...what) => (heard[event] ?? []).forEach((hear) => hear(...what)),
    };
    window.show = () => {
        const el = document.createElement("div");
        document.body.append(el);
        window.end = module.default.render({ model, el });
        window.host = el.firstChild;
    };
    show();
}"""
CAME = "([content, bytes]) => model.fire('msg:custom', content, [dataOf(bytes)])"
RENEWED = """([about, frames]) => {
    state.about = about;
    if (frames !== null) state.frames = dataOf(frames);
    model.fire("change:about");
}"""


def text(frames):
    return base64.b64encode(frames).decode()


def fall(writer, k):
    writer.frame(0.1 * k, [[0.0, -0.2 * k], [3.0, -0.1 * k]], [[0.0, -2.0], [0.0, -1.0]], radii=1.0)
    writer.commit()


@pytest.fixture
def impatient(monkeypatch):
    """Files are looked at as often as they are asked about."""
    monkeypatch.setattr(streaming, "LOOK_INTERVAL", 0.01)
    monkeypatch.setattr(streaming, "MIN_INTERVAL", 0.0)
    monkeypatch.setattr(streaming, "IDLE_FACTOR", 0.0)


@pytest.fixture
def run(tmp_path):
    """A run with one frame so far."""
    with Writer(tmp_path / "run.vtkhdf", shape=(2, 2), about={}) as writer:
        fall(writer, 0)
        yield writer


def follower(tmp_path, most_bytes=10**6):
    return Follower(streaming.stream_of(tmp_path / "run.vtkhdf", "", None), most_bytes)


def until(condition):
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_each_frame_is_told_once(run, tmp_path, impatient):
    found = follower(tmp_path)
    first = found.news()
    assert (first.first, len(first.frames), first.about["live"]) == (0, 1, True)
    assert found.news() is None
    for k in (1, 2):
        fall(run, k)
    more = found.news()
    assert (more.first, len(more.frames), more.about["edition"]) == (1, 2, first.about["edition"])
    assert more.about["times"] == pytest.approx([0.0, 0.1, 0.2])
    assert more.about["lengths"] == [len(frame) for frame in found.frames]
    run.close()
    last = found.news()
    assert (last.first, last.frames, last.about["live"]) == (3, [], False)


def test_a_long_run_keeps_every_second_frame_and_its_end(run, tmp_path, impatient):
    one = len(follower(tmp_path).news().frames[0])
    found = follower(tmp_path, most_bytes=5 * one)
    found.news()
    for k in range(1, 12):
        fall(run, k)
    news = found.news()
    assert (news.first, news.about["edition"]) == (0, 2)
    assert news.about["times"] == pytest.approx([0.0, 0.4, 0.8])
    assert "One in 4 of the 12 saved frames" in news.about["note"]
    fall(run, 12)
    assert found.news().about["times"] == pytest.approx([0.0, 0.4, 0.8, 1.2])
    fall(run, 13)
    run.close()
    assert found.news().about["times"] == pytest.approx([0.0, 0.4, 0.8, 1.2, 1.3])
    with pytest.raises(jo.InvalidValue, match="most_bytes must be at least"):
        follower(tmp_path, most_bytes=one // 2).news()


def test_another_run_in_its_place_is_told_from_its_start(run, tmp_path, impatient):
    found = follower(tmp_path)
    fall(run, 1)
    before = found.news()
    other = tmp_path / "other.vtkhdf"
    with Writer(other, shape=(3, 2), about={}) as again:
        again.frame(0.0, [[0.0, 0.0], [3.0, 0.0], [6.0, 0.0]], np.zeros((3, 2)), radii=1.0)
        again.commit()
    other.replace(tmp_path / "run.vtkhdf")
    news = found.news()
    assert (news.first, len(news.frames), news.about["n"]) == (0, 1, 3)
    assert news.about["session"] != before.about["session"]
    with pytest.raises(FileIsThere, match="replaced by another program"):
        run.close("finished")


def test_the_widget_sends_what_is_new_until_the_run_ends(run, tmp_path, impatient):
    shown = viz.widget(tmp_path / "run.vtkhdf", title="A fall")
    sent, first = [], shown.frames
    shown.send = lambda content, buffers: sent.append((content, buffers))
    assert (shown.about["title"], shown.about["live"], len(shown.about["times"])) == ("A fall", True, 1)
    fall(run, 1)
    until(lambda: len(shown.about["times"]) == 2)
    assert sent == [({"first": 1, "lengths": shown.about["lengths"][1:]}, [b"".join(shown.later)])]
    assert shown.frames == first, "what was sent is not sent again"
    assert shown.get_state()["frames"] == first + sent[0][1][0], "a page that is opened later gets all"
    shown._handle_custom_msg({"missing": 0}, [])
    assert sent[-1] == ({"first": 0, "lengths": shown.about["lengths"]}, [first + sent[0][1][0]])
    run.close()
    until(lambda: not shown.about["live"])


def test_a_widget_that_is_closed_no_longer_looks(run, tmp_path, impatient):
    shown = viz.widget(tmp_path / "run.vtkhdf")
    shown.close()
    time.sleep(0.05)
    fall(run, 1)
    time.sleep(0.1)
    assert len(shown.about["times"]) == 1


def test_a_run_that_has_ended_is_handed_over_at_once(run, tmp_path):
    fall(run, 1)
    run.close()
    shown = viz.widget(tmp_path / "run.vtkhdf")
    assert "live" not in shown.about
    assert len(shown.about["times"]) == 2


def test_a_browser_follows_it_to_its_end(run, tmp_path, impatient, tab_of):
    found = follower(tmp_path)
    start = found.news()
    tab = tab_of("about:blank", below="blob:", size=(700, 900))
    tab.evaluate(MODEL, [viz.widget(tmp_path / "run.vtkhdf")._esm, start.about, text(b"".join(start.frames)), 420])
    wait_until(tab, "() => host.viewer.shown === 0")
    assert tab.locator("#live").is_visible()
    tab.locator("#follow").check()

    def tell(news):
        content = {"first": news.first, "lengths": [len(frame) for frame in news.frames]}
        tab.evaluate(CAME, [content, text(b"".join(news.frames))])
        tab.evaluate(RENEWED, [news.about, None])

    for k in (1, 2):
        fall(run, k)
    tell(found.news())
    wait_until(tab, "() => host.viewer.shown === 2")
    assert tab.locator("#time").inner_text() == "t = 0.2 · frame 3 of 3"
    fall(run, 3)
    lost = found.news()
    tab.evaluate(RENEWED, [lost.about, None])  # its frames did not come
    assert tab.evaluate("sent") == [{"missing": 3}]
    assert tab.evaluate("host.viewer.source.count") == 3
    tab.evaluate(CAME, [{"first": 3, "lengths": [len(lost.frames[0])]}, text(lost.frames[0])])
    wait_until(tab, "() => host.viewer.shown === 3")
    run.close()
    tell(found.news())
    wait_until(tab, "() => state.frames.byteLength === state.about.lengths.reduce((a, b) => a + b)")
    assert tab.locator("#live").is_hidden()
    assert not tab.locator("#message").is_visible()
    tab.evaluate("() => { end(); host.remove(); show(); }")  # as a saved notebook does
    wait_until(tab, "() => host.viewer.shown === 0 && host.viewer.source.count === 4")


def test_a_browser_shows_fewer_frames_and_another_run(run, tmp_path, impatient, tab_of, pile):
    found = follower(tmp_path)
    for k in range(1, 5):
        fall(run, k)
    start = found.news()
    tab = tab_of("about:blank", below="blob:", size=(700, 900))
    shown = viz.widget(pile)
    tab.evaluate(MODEL, [shown._esm, start.about, text(b"".join(start.frames)), 420])
    wait_until(tab, "() => host.viewer.shown === 0")
    tab.evaluate("() => { host.shadowRoot.getElementById('view').focus(); }")
    tab.keyboard.press("End")
    wait_until(tab, "() => host.viewer.shown === 4")
    few = Follower(streaming.stream_of(tmp_path / "run.vtkhdf", "", None), 3 * len(start.frames[0])).news()
    about = few.about | {"edition": 7}
    tab.evaluate(RENEWED, [about, text(b"".join(few.frames))])
    wait_until(tab, "() => host.viewer.shown === 2 && host.viewer.source.count === 3")
    assert "One in 2" in tab.locator("#note").inner_text()
    tab.evaluate(RENEWED, [shown.about | {"session": 1}, text(shown.frames)])
    wait_until(tab, "() => host.viewer.shown === 0 && host.viewer.source.about.n === 24")
