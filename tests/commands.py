"""Several commands of the command line in one new process, because its start takes longer than most of them."""

import json
import os
import subprocess
import sys

PROGRAM = """
import contextlib, io, json, sys
from jostle.cli import main

answers = []
for arguments in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as ended:
            answers.append((ended.code or 0, out.getvalue(), err.getvalue()))
print(json.dumps(answers))
"""


def run_commands(*commands, folder, cwd=None):
    """Exit code, stdout and stderr of each command, in a process in which the packages of a folder are installed.

    A command is a list of arguments, or a line without spaces in its arguments.
    """
    lines = [command.split() if isinstance(command, str) else [str(word) for word in command] for command in commands]
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(lines)],
        cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return [tuple(answer) for answer in json.loads(done.stdout)]
