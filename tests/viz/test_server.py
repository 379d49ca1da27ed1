"""The server: it shows one solution to this machine, and nothing else to anybody."""

import http.client
import json
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

import jostle as jo
from jostle import viz
from jostle.io import Writer
from jostle.viz.streaming import BodyStream


@pytest.fixture(scope="module")
def server(pile):
    with viz.serve(pile, title="A pile") as running:
        yield running


def ask(server, path, method="GET", **headers):
    """Status, headers and body of an answer; Host may be given, or None for no such header."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    host = headers.pop("Host", f"127.0.0.1:{server.port}")
    connection.putrequest(method, path, skip_host=True)
    for name, value in {"Host": host, **headers}.items():
        if value is not None:
            connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


def word(server):
    return urlsplit(server.address).path


def test_a_port_can_be_chosen_and_one_that_is_taken_is_an_error(server, pile):
    with pytest.raises(jo.InvalidValue, match=f"port {server.port} cannot be used: .*choose another"):
        viz.serve(pile, port=server.port)
    with pytest.raises(jo.InvalidValue, match="port 70000 cannot be used"):
        viz.serve(pile, port=70_000)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with viz.serve(pile, port=port) as chosen:
        assert chosen.address.startswith(f"http://127.0.0.1:{port}/")
        assert ask(chosen, word(chosen))[0] == 200


def test_the_page_the_header_and_the_frames_are_there(server, pile):
    status, headers, body = ask(server, word(server))
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"<title>A pile</title>" in body
    status, headers, body = ask(server, word(server) + "header")
    about = json.loads(body)
    assert (status, about["times"], about["live"]) == (200, pile.t.tolist(), False)
    for k in (0, 20):
        status, headers, body = ask(server, f"{word(server)}frame/{k}")
        q = np.frombuffer(body, "<f4", 48, 72).reshape(24, 2)
        assert (status, headers["Content-Type"]) == (200, "application/octet-stream")
        assert q + about["origin"][:2] == pytest.approx(pile.q[k], abs=1e-5)


@pytest.mark.parametrize(
    "path",
    [
        "", "/", "/header", "/frame/0", "//", "{word}frame/21", "{word}frame/-1", "{word}frame/1.5", "{word}frame/",
        "{word}frame/٣", "{word}frame/0/", "{word}frame/0?k=1", "{word}?", "{word}header?", "{word}index.html",
        "{word}../", "{word}../../etc/passwd", "{word}%2e%2e/%2e%2e/etc/passwd", "{word}frame/../header",
        "{word}/etc/passwd", "{word}frame//etc/passwd", "{word}..\\\\..\\\\etc", "/etc/passwd", "/../etc/passwd",
        "http://127.0.0.1{word}", "{word}frame/99999999999999999999", "{half}", "{half}header",
        "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/", "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/header", "/favicon.ico",
    ],
)  # fmt: skip
def test_everything_else_is_not_there(server, path):
    line = path.format(word=word(server), half=word(server)[:10] + "/")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(f"GET {line} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        answer = raw.makefile("rb").read()
    assert answer.split()[1] in (b"404", b"400")
    assert answer.endswith((b"\r\n\r\nNot Found", b"\r\n\r\nBad Request"))


@pytest.mark.each_value
@pytest.mark.parametrize(
    "host",
    ["example.org", "example.org:{port}", "127.0.0.1", "127.0.0.1:1", "0.0.0.0:{port}", "127.0.0.1:{port}.a.org",
     "a@127.0.0.1:{port}", "[::1]:{port}", "", None],
)  # fmt: skip
@pytest.mark.parametrize("what", ["", "header", "frame/0"])
def test_a_name_that_was_made_to_point_here_gets_no_answer(server, host, what):
    named = host.format(port=server.port) if host else host
    status, _, body = ask(server, word(server) + what, Host=named)
    assert (status, body) == (403, b"Forbidden")


def test_two_names_of_the_host_are_one_too_many(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        host = f"127.0.0.1:{server.port}"
        raw.sendall(f"GET {word(server)} HTTP/1.1\r\nHost: {host}\r\nHost: example.org\r\n\r\n".encode())
        assert b" 403 " in raw.makefile("rb").readline()


def test_the_name_of_this_machine_is_good(server):
    assert ask(server, word(server), Host=f"localhost:{server.port}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "nonsense"])
def test_nothing_can_be_done_but_reading(server, method):
    status, _, body = ask(server, word(server), method)
    assert (status, body) == (405, b"Method Not Allowed")


def test_a_head_is_an_answer_without_a_body(server):
    status, headers, body = ask(server, word(server) + "frame/3", "HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) == len(ask(server, word(server) + "frame/3")[2])


def test_it_listens_on_the_loopback_alone(server):
    bound = server._http.socket.getsockname()
    assert bound == ("127.0.0.1", server.port)
    for address in {found[4][0] for found in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}:
        if not address.startswith("127."):
            with pytest.raises(OSError):
                socket.create_connection((address, server.port), timeout=2).close()


def test_no_two_servers_have_the_same_address(pile):
    with viz.serve(pile) as one, viz.serve(pile) as other:
        assert len(word(one)) > 30
        assert word(one) != word(other)
        assert ask(one, word(other))[0] == 404


@pytest.mark.parametrize("what", ["", "header", "frame/0", "nothing"])
def test_every_answer_tells_the_browser_to_be_careful(server, what):
    _, headers, _ = ask(server, word(server) + what)
    policy = headers["Content-Security-Policy"]
    for rule in ("default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
        assert rule in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Access-Control-Allow-Origin"] is None
    assert "Python" not in headers["Server"]


def test_nonsense_is_answered_without_repeating_it(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(b"<script>alert(1)</script> x y z\r\n\r\n")
        answer = raw.makefile("rb").read()
    assert b"400" in answer
    assert b"alert" not in answer


def test_nothing_is_there_after_the_end(pile):
    server = viz.serve(pile)
    server.close()
    with pytest.raises(OSError):
        ask(server, word(server))


def test_a_connection_that_is_kept_ends_too(pile):
    server = viz.serve(pile)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", word(server))
    assert b"</html>" in connection.getresponse().read()
    server.close()
    assert connection.sock.recv(1) == b"", "the server has hung up"
    connection.close()


def test_waiting_ends_with_the_server(pile):
    server = viz.serve(pile)
    waiting = threading.Thread(target=server.wait)
    waiting.start()
    assert waiting.is_alive()
    server.close()
    waiting.join(60)
    assert not waiting.is_alive()


def test_what_is_not_new_is_not_sent_again(server):
    _, headers, _ = ask(server, word(server) + "header")
    status, _, body = ask(server, word(server) + "header", If_None_Match=headers["ETag"])
    assert (status, body) == (304, b"")


def fall(writer, k):
    """Frame k of two balls that fall."""
    writer.frame(0.1 * k, [[0.0, -1.0 * k], [3.0, -1.0 * k]], [[0.0, -1.0], [0.0, -1.0]], radii=1.0)
    writer.commit()


@pytest.fixture
def impatient(monkeypatch):
    """The file is looked at whenever it is asked for."""
    monkeypatch.setattr("jostle.viz.streaming.MIN_INTERVAL", 0.0)
    monkeypatch.setattr("jostle.viz.streaming.IDLE_FACTOR", 0.0)


def test_a_run_that_goes_on_brings_new_frames(tmp_path, impatient):
    path = tmp_path / "run.vtkhdf"
    with Writer(path, shape=(2, 2), about={}) as writer:
        fall(writer, 0)
        stream = BodyStream(jo.io.read(path))
        before, about = stream.header()
        assert (about["live"], len(about["times"]), stream.frame(1)) == (True, 1, None)
        origin = about["origin"]
        for k in (1, 2, 3):
            fall(writer, k)
            tag, about = stream.header()
            q = np.frombuffer(stream.frame(k), "<f4", 4, 72).reshape(2, 2)
            assert tag != before
            assert (about["origin"], len(about["times"])) == (origin, k + 1)
            assert (q + origin[:2]).tolist() == [[0.0, -k], [3.0, -k]]
        assert about["home"]["lower"][1] + origin[1] <= -3.0
    tag, about = stream.header()
    assert (about["live"], about["status"]) == (False, "finished")


def test_a_writer_that_was_killed_is_not_live(tmp_path):
    path, killed = tmp_path / "run.vtkhdf", tmp_path / "killed.vtkhdf"
    with Writer(path, shape=(2, 2), about={}) as writer:
        fall(writer, 0)
        killed.write_bytes(path.read_bytes())
    sol = jo.io.read(killed)
    assert sol.status == "running"
    assert BodyStream(sol).live is False


KILLED = """
import sys, time
from jostle.io import Writer
writer = Writer(sys.argv[1], shape=(2, 2), about={})
writer.frame(0.0, [[0.0, 0.0], [3.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], radii=1.0)
writer.commit()
print("written", flush=True)
time.sleep(600)
"""


def test_a_writer_that_is_killed_ends_what_is_live(tmp_path, impatient):
    path = tmp_path / "run.vtkhdf"
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"written\n"
        stream = BodyStream(jo.io.read(path))
        assert stream.header()[1]["live"] is True
        process.kill()
        process.wait()
    tag, about = stream.header()
    assert (about["live"], len(about["times"])) == (False, 1)
    assert about["note"].endswith("the process that wrote run.vtkhdf ended. Continue it with jostle resume run.vtkhdf")
    with Writer.reopen(path, 1, 0) as writer:
        tag_now, about = stream.header()
        assert (about["live"], len(about["times"]), about["note"]) == (True, 1, "")
        assert tag_now != tag
        fall(writer, 1)
        assert len(stream.header()[1]["times"]) == 2
    _, about = stream.header()
    assert (about["live"], about["status"], about["note"]) == (False, "finished", "")


def test_another_run_in_the_same_place_is_another_session(tmp_path, impatient):
    path = tmp_path / "run.vtkhdf"
    jo.io.write(jo.solve(jo.models.rack(2), jo.Maury(), t=1.0, h=0.1), path)
    stream = BodyStream(jo.io.read(path))
    assert stream.header()[1]["session"] == 0
    other = tmp_path / "other.vtkhdf"
    jo.io.write(jo.solve(jo.models.rack(3), jo.Maury(), t=2.0, h=0.1), other)
    other.replace(path)
    _, about = stream.header()
    assert (about["session"], about["n"], len(about["times"])) == (1, 7, 21)


def test_a_file_that_was_taken_away_is_said(tmp_path, impatient):
    path = tmp_path / "run.vtkhdf"
    jo.io.write(jo.solve(jo.models.rack(2), jo.Maury(), t=1.0, h=0.1), path)
    with viz.serve(jo.io.read(path)) as server:
        path.unlink()
        status, _, body = ask(server, word(server) + "frame/1")
        assert status == 503
        assert b"run.vtkhdf" in body
        status, _, body = ask(server, word(server) + "header")
        assert status == 200
        assert "run.vtkhdf" in json.loads(body)["note"]


def test_many_ask_at_once(server, pile):
    wrong = []

    def go():
        for k in range(21):
            status, _, body = ask(server, f"{word(server)}frame/{k}")
            if status != 200 or np.frombuffer(body, "<f8", 1)[0] != pile.t[k]:
                wrong.append(k)

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_connections_and_threads_are_bounded_and_a_new_one_is_answered(pile, monkeypatch):
    """Those that are silent for longest give way."""
    monkeypatch.setattr("jostle.viz.server.MAX_CONNECTIONS", 8)
    before = threading.active_count()
    with viz.serve(pile) as server:
        used = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        silent = []
        for _ in range(8):
            for _ in range(3):
                silent.append(socket.create_connection(("127.0.0.1", server.port)))
                silent[-1].settimeout(60.0)
            used.request("GET", word(server) + "header")
            assert used.getresponse().read()
            assert threading.active_count() <= before + 1 + 8
            assert ask(server, word(server))[0] == 200
        assert all(connection.recv(1) == b"" for connection in silent[:10])
        for connection in (used, *silent):
            connection.close()


def test_a_thread_that_cannot_be_started_loses_no_place(pile, monkeypatch):
    monkeypatch.setattr("jostle.viz.server.MAX_CONNECTIONS", 2)

    def refuse(*_):
        raise RuntimeError("can't start new thread")

    with viz.serve(pile) as server:
        monkeypatch.setattr("jostle.viz.server.Listener.handle_error", lambda *_: None)
        with monkeypatch.context() as there:
            there.setattr("socketserver.ThreadingMixIn.process_request", refuse)
            for _ in range(5):
                with pytest.raises(OSError, match=r".*"):
                    ask(server, word(server))
        assert ask(server, word(server))[0] == 200


def test_the_scripts_name_no_other_place():
    web = Path(viz.__file__).parent / "web"
    for path in web.iterdir():
        text = path.read_text().replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not re.search(r"url\(|@import|\bsrc=|XMLHttp|WebSocket|EventSource|sendBeacon|import\(|\beval\b", text)
        assert "http:" not in text
        assert "https:" not in text


def test_a_browser_may_knock_many_times_before_it_is_let_in(server):
    assert server._http.request_queue_size == 128


def test_the_path_of_a_file_will_do(pile, tmp_path):
    path = jo.io.write(pile, tmp_path / "pile.vtkhdf")
    for given in (path, str(path)):
        with viz.serve(given) as server:
            assert len(json.loads(ask(server, word(server) + "header")[2])["times"]) == 21
    with pytest.raises(jo.InvalidValue, match="not None"):
        viz.serve(None)
