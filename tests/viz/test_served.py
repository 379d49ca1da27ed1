"""The page of the server in a real browser: frames come when they are looked at, and while a run goes on."""

import json
import os
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
from browsing import facts, image, picked, place, play_faster, scrub, wait_until
from test_server import KILLED
from test_viewer import WITHOUT_WEBGL

import jostle as jo
from jostle.cli import main
from jostle.errors import FileIsThere
from jostle.io import Writer
from jostle.viz.streaming import BodyStream
from rows import whole

ALL_CAME = "() => !viewer.source.busy && [...viewer.source.kept.values()].every((one) => one.size)"


def asked(tab):
    """How many frames the page has asked for, once all of them came."""
    wait_until(tab, ALL_CAME)
    return tab.evaluate("framesAsked")


@pytest.mark.parametrize("before", ["", whole(WITHOUT_WEBGL)], ids=["webgl", "light"])
def test_it_draws_scrubs_picks_and_plays(served, pile, before):
    tab = served(pile, before=before, serve={"title": "A pile"})
    assert tab.locator("h1").inner_text() == "A pile"
    first = image(tab)
    scrub(tab, 20)
    assert (image(tab) != first).any(axis=2).mean() > 0.05
    tab.mouse.click(*place(tab, 11))
    assert picked(tab) == 11
    assert [float(x) for x in facts(tab)["position"].split(", ")] == pytest.approx(pile.q[20, 11], rel=1e-3)
    scrub(tab, 16)
    play_faster(tab)
    tab.locator("#play").click()
    wait_until(tab, "() => viewer.shown === 20 && !viewer.playing")
    assert tab.locator("#live").is_hidden()


@pytest.fixture(scope="module")
def long_file(tmp_path_factory):
    """A thousand frames of three balls, in a file."""
    path = tmp_path_factory.mktemp("long") / "long.vtkhdf"
    with Writer(path, shape=(3, 2), about={}) as writer:
        for k in range(1000):
            q = [[0.01 * k, 0.0], [3.0, 0.003 * k], [6.0, 1.0]]
            writer.frame(0.1 * k, q, np.zeros((3, 2)), radii=1.0)
    return path


@pytest.fixture
def long_run(long_file):
    return jo.io.read(long_file)


def test_a_page_of_a_long_run_opens_before_all_frames_are_read(long_run):
    assert BodyStream(long_run)._scales.taken == 100


def test_only_what_is_looked_at_is_sent_and_contacts_that_were_not_saved_are_not_said_to_be_zero(served, long_run):
    tab = served(long_run)
    assert asked(tab) == 7
    scrub(tab, 500)
    assert asked(tab) == 14
    scrub(tab, 502)
    assert asked(tab) == 16, "what was sent once is not asked for again"
    tab.locator("#body").fill("1")
    assert facts(tab)["contacts"] == "not saved"
    assert "force" not in facts(tab)
    assert "impulse" not in tab.locator("#colour").inner_text()
    assert tab.locator("#forces").is_hidden()
    tab.locator("#view").focus()
    tab.keyboard.press("Shift+N")
    assert tab.locator("#said").inner_text() == "contacts were not saved"


def test_the_page_keeps_no_more_than_it_may(served, long_run):
    tab = served(long_run)
    assert asked(tab) == 7
    one = tab.evaluate("viewer.source.size / 7")
    tab.evaluate("size => viewer.source.most = size", 20 * one)
    for k in range(10, 70, 10):
        scrub(tab, k)
    assert asked(tab) >= 25, "more than it may keep"
    assert tab.evaluate("viewer.source.kept.has(66)")
    assert tab.evaluate("viewer.source.kept.size") <= 20
    assert tab.evaluate("viewer.source.size") <= 20 * one


def test_a_server_that_has_ended_is_said_and_what_is_there_stays(served, long_run, tab_of):
    tab = served(long_run)
    assert asked(tab) == 7
    served.servers[0].close()
    tab.evaluate("() => document.getElementById('frame').focus()")
    tab.keyboard.press("End")
    wait_until(tab, "() => !document.getElementById('message').hidden")
    assert "does not answer" in tab.locator("#message").inner_text()
    scrub(tab, 3)
    tab_of.close()  # the page asks again and again, so more reports may come until it is closed
    tab_of.wrong.clear()  # the browser itself reports the refused connections


def test_what_was_said_before_is_not_lost_when_there_is_more(served, tmp_path):
    with Writer(tmp_path / "run.vtkhdf", shape=(2, 2), about={}) as writer:
        fall(writer, 0)
        tab = served(jo.io.read(tmp_path / "run.vtkhdf"), before=WITHOUT_WEBGL)
        for k in range(3, 40, 4):
            fall(writer, k)
        wait_until(tab, "() => viewer.source.count === 11")
        assert "no WebGL 2" in tab.locator("#message").inner_text()
        assert float(tab.locator("#speed").input_value()) == pytest.approx(0.2), "a longer run is played faster"


def fall(writer, k):
    writer.frame(0.1 * k, [[0.0, -0.2 * k], [3.0, -0.1 * k]], [[0.0, -2.0], [0.0, -1.0]], radii=1.0)
    writer.commit()


def test_a_run_that_goes_on_is_followed_to_its_end(served, tmp_path):
    path = tmp_path / "run.vtkhdf"
    writer = Writer(path, shape=(2, 2), about={})
    fall(writer, 0)
    tab = served(jo.io.read(path))
    assert tab.locator("#live").is_visible()
    fall(writer, 1)
    wait_until(tab, "() => document.getElementById('time').textContent === 't = 0 · frame 1 of 2'")
    tab.locator("#view").focus()
    tab.keyboard.press("e")
    assert tab.locator("#follow").is_checked()
    wait_until(tab, "() => viewer.shown === 1")
    fall(writer, 2)
    fall(writer, 3)
    wait_until(tab, "() => viewer.shown === 3")
    assert tab.locator("#frame").get_attribute("max") == "3"
    tab.keyboard.press("ArrowLeft")
    assert not tab.locator("#follow").is_checked(), "who looks back does not follow"
    wait_until(tab, "() => viewer.shown === 2")
    fall(writer, 4)
    wait_until(tab, "() => viewer.source.count === 5")
    assert asked(tab) == 4, "the last frame is not looked at"
    assert tab.evaluate("viewer.shown") == 2
    tab.keyboard.press("e")
    wait_until(tab, "() => viewer.shown === 4")
    fall(writer, 5)
    writer.close()
    wait_until(tab, "() => viewer.shown === 5")
    wait_until(tab, "() => document.getElementById('live').hidden")
    assert not tab.locator("#follow").is_checked()
    assert not tab.locator("#message").is_visible()


def test_a_run_that_was_killed_is_said_to_be_and_followed_when_it_is_resumed(served, tmp_path):
    path = tmp_path / "run.vtkhdf"
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"written\n"
        tab = served(jo.io.read(path))
        assert tab.locator("#live").is_visible()
        process.kill()
        process.wait()
    wait_until(tab, "() => document.getElementById('live').hidden")
    assert "jostle resume run.vtkhdf" in tab.locator("#note").inner_text()
    assert "jostle resume run.vtkhdf" in tab.locator("#said").inner_text()
    with Writer.reopen(path, 1, 0) as writer:
        fall(writer, 1)
        wait_until(tab, "() => viewer.source.count === 2")
        assert tab.locator("#live").is_visible()
        assert not tab.locator("#note").is_visible()
        tab.locator("#follow").check()
        fall(writer, 2)
        wait_until(tab, "() => viewer.shown === 2")
    wait_until(tab, "() => document.getElementById('live').hidden")
    assert not tab.locator("#note").is_visible()


def test_a_server_that_answers_again_is_looked_at_again(served, tmp_path, tab_of):
    with Writer(tmp_path / "run.vtkhdf", shape=(2, 2), about={}) as writer:
        fall(writer, 0)
        tab = served(jo.io.read(tmp_path / "run.vtkhdf"))
        tab.context.set_offline(True)
        wait_until(tab, "() => !document.getElementById('message').hidden")
        assert "does not answer" in tab.locator("#message").inner_text()
        tab.context.set_offline(False)
        fall(writer, 1)
        wait_until(tab, "() => viewer.source.count === 2")
        assert not tab.locator("#message").is_visible()
    tab_of.close()  # no report may come later
    tab_of.wrong.clear()  # the browser itself reports that it is offline


def test_another_run_in_the_same_place_is_shown_from_its_start(served, tmp_path):
    path, other = tmp_path / "run.vtkhdf", tmp_path / "other.vtkhdf"
    with Writer(path, shape=(2, 2), about={}) as writer:
        fall(writer, 0)
        fall(writer, 1)
        tab = served(jo.io.read(path))
        with Writer(other, shape=(3, 2), about={}) as again:
            again.frame(0.0, [[0.0, 0.0], [3.0, 0.0], [6.0, 0.0]], np.zeros((3, 2)), radii=1.0)
            again.commit()
        with tab.expect_event("load"):
            other.replace(path)
        wait_until(tab, "() => window.viewer?.source?.about?.n === 3 && viewer.shown === 0")
        assert tab.locator("#time").inner_text() == "t = 0 · frame 1 of 1"
        with pytest.raises(FileIsThere, match="replaced by another program"):
            writer.close("finished")


def test_playing_to_the_end_of_a_run_that_goes_on_follows_it(served, tmp_path):
    with Writer(tmp_path / "run.vtkhdf", shape=(2, 2), about={}) as writer:
        for k in range(4):
            fall(writer, k)
        tab = served(jo.io.read(tmp_path / "run.vtkhdf"))
        scrub(tab, 2)
        play_faster(tab)
        tab.locator("#play").click()
        wait_until(tab, "() => document.getElementById('follow').checked && viewer.shown === 3")
        fall(writer, 4)
        wait_until(tab, "() => viewer.shown === 4")


def test_the_command_shows_a_file_until_it_is_interrupted(tmp_path, pile):
    path = jo.io.write(pile, tmp_path / "pile.vtkhdf")
    command = [sys.executable, "-m", "jostle", "view", "--no-browser", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        address, hint = process.stdout.readline().strip(), process.stdout.readline()
        with urllib.request.urlopen(address + "header") as answer:
            assert len(json.load(answer)["times"]) == 21
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert (hint, out) == ("Open this address in a browser on this machine. Ctrl-C ends the command.\n", "")


@pytest.mark.parametrize("there_is_one", [True, False])
def test_the_command_opens_the_browser_if_there_is_one(tmp_path, pile, monkeypatch, capsys, there_is_one):
    path, opened = jo.io.write(pile, tmp_path / "pile.vtkhdf"), []

    def interrupted(server):
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or there_is_one)
    monkeypatch.setattr("jostle.viz.server.Server.wait", interrupted)
    with pytest.raises(SystemExit) as end:
        main(["view", str(path)])
    assert end.value.code == 0
    address, hint = capsys.readouterr().out.splitlines()
    assert opened == [address]
    assert hint.startswith("Open this address") != there_is_one
    with pytest.raises(OSError):
        urllib.request.urlopen(address)


def test_the_command_writes_a_page_and_ends(tmp_path, pile, jostle):
    path = jo.io.write(pile, tmp_path / "pile.vtkhdf")
    target = tmp_path / "mail.html"
    code, out, err = jostle("view", path, "-o", target)
    assert (code, out.replace("\n", ""), err) == (0, str(target), "")
    assert "<title>pile</title>" in target.read_text()
