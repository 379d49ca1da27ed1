"""``jostle verify``: the tests of guidelines for crowds."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from jostle.cli.runs import Json
from jostle.cli.show import plain, say

GUIDELINES = ("RiMEA", "IMO", "NIST")
"""The guidelines that there are tests of."""


def verify(
    guideline: Annotated[str, typer.Argument(help="RiMEA, IMO or NIST (ISO 20414); by default all.")] = "",
    as_json: Json = False,
) -> None:
    """Run the verification tests of guidelines for crowds.

    The command prints the requirement, the result and the verdict of each test, and takes a minute or two. The exit
    code is 0 even if tests fail or do not apply.
    """
    from jostle.verification import verify as verified

    named = {name.lower(): name for name in GUIDELINES}
    lines = verified(named.get(guideline.lower(), guideline))
    if as_json:
        say(json.dumps([line._asdict() for line in lines]))
        return
    console = Console(highlight=False, markup=False, emoji=False)
    table = Table("test", "asks", "came out", "verdict", box=None, padding=(0, 1))
    for line in lines:
        table.add_row(*map(plain, (f"{line.guideline} {line.number}", line.asks, line.found, line.verdict)))
    console.print(table)
    counts = {verdict: sum(line.verdict == verdict for line in lines) for verdict in ("pass", "fail", "not applicable")}
    say(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
