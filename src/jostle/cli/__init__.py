"""The command line, ``jostle run hourglass``; ``jostle --help`` lists the commands.

Exit codes: 0 success; 1 the run failed, or a file could not be read or written; 2 an option, an argument or the
scenario is wrong; 3 some step did not reach the tolerance (strict = false); 4 the people of a run are blocked; 5 some
runs of a study failed; 130 interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP (0 for ``view``, which ends in this
way).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

FAILED, WRONG, INTERRUPTED = 1, 2, 130
"""Exit codes of a failure, of a wrong command or scenario, and of Ctrl-C."""

try:
    import typer

    from jostle.cli import files, lessons, machine, runs, sweeps
    from jostle.cli.show import say, show_warning
    from jostle.errors import InvalidValue, JostleError
    from jostle.run.interrupts import ending_signals, exit_code
    from jostle.scenarios import ScenarioError
except KeyboardInterrupt:  # Ctrl-C during the imports
    sys.exit(INTERRUPTED)

Options = ParamSpec("Options")
Answer = TypeVar("Answer")


def interruptible(command: Callable[Options, Answer]) -> Callable[Options, Answer]:
    """The command, which ends with the exit code of the signal that interrupts it; typer would give that of Ctrl-C."""

    @wraps(command)
    def run(*arguments: Options.args, **options: Options.kwargs) -> Answer:
        try:
            with ending_signals():
                return command(*arguments, **options)
        except KeyboardInterrupt as error:
            raise typer.Exit(exit_code(error)) from None

    return run


SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "context_settings": {"help_option_names": ["-h", "--help"]},
    "rich_markup_mode": None,
}
app = typer.Typer(name="jostle", pretty_exceptions_enable=False, **SETTINGS)
dev = typer.Typer(help="Measure, check and repair.", **SETTINGS)
COMMANDS: dict[typer.Typer, tuple[Callable[..., None], ...]] = {
    app: (
        files.list_, runs.run, files.view, files.plot, files.movie, files.new, files.info, runs.resume, sweeps.sweep,
        files.report, files.export, machine.doctor,
    ),
    dev: (runs.verify, files.repair, files.schema, lessons.lessons),
}  # fmt: skip
"""The commands in the order of a first day; `jostle dev` has those that few need."""
for commands, each in COMMANDS.items():
    for command in each:
        commands.command(name=command.__name__.rstrip("_"))(interruptible(command))
app.add_typer(dev, name="dev")


def show_version(wanted: bool) -> None:
    """Print the version and exit."""
    if wanted:
        from jostle import __version__

        say(f"jostle {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """Simulate bodies that move, may touch, and never overlap."""


def reason(error: OSError) -> str:
    """The message of an error of the operating system."""
    return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part is not None)


def main(arguments: list[str] | None = None) -> None:
    """Run a command; errors of the library and of the system become one line on stderr and an exit code."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_warning
            app(args=arguments)
    except (JostleError, OSError) as error:
        say(f"error: {error if isinstance(error, JostleError) else reason(error)}", error=True)
        sys.exit(WRONG if isinstance(error, ScenarioError | InvalidValue) else FAILED)
    except UnicodeEncodeError as error:
        wrong = error.object[error.start : error.end]
        say(f"error: {wrong!r} in a name cannot be encoded in {error.encoding}; choose another name", error=True)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
