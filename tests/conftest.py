"""The suite does the same however it was started."""

import signal

import pytest

# a shell that starts a job in the background makes it ignore Ctrl-C, of which some tests are
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def jostle(capsys):
    """Run a command in this process: its exit code, what it printed, and what it said on stderr."""

    def run(*arguments):
        from jostle.cli import main

        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return ended.value.code or 0, captured.out, captured.err

    return run
