"""The identity of a run: what must agree when it is resumed from a checkpoint, and what may change."""

from __future__ import annotations

import json
import re
from typing import Any

from jostle.arrays import Array
from jostle.io.identity import describe, differences, digest, listed, was
from jostle.kernels.threads import threads

CHANGEABLE = ("t", "every", "until", "strict", "threads", "device")
"""Settings that may change when a run is resumed."""
NOT_RECORDED = "not recorded"
"""Value of a setting that an older checkpoint does not contain."""
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Address of an object in memory, which differs between processes."""
MAX_TITLE = 160
"""Largest number of characters of a description in an error message."""


class Run:
    """The identity of a run: `fixed` must agree when it is resumed, `free` may change."""

    def __init__(
        self, problem: Any, scheme: Any, change: Any, start: float, h: Array, free: dict[str, Any], random: Any
    ):
        self.sizes = h
        things = {"scheme": scheme, "problem": problem, "change": change}
        self.titles = {name: ADDRESS.sub("", " ".join(repr(thing).split())) for name, thing in things.items()}
        self.fixed = {name: describe(thing, random) for name, thing in things.items()}
        self.fixed["start"] = {"": repr(start)}
        told = free | {"threads": threads()}
        self.free = {name: _free(name, told[name], random) for name in CHANGEABLE}

    def text(self, done: int) -> str:
        """The description of the run that a checkpoint stores after `done` steps, as JSON."""
        return json.dumps({"titles": self.titles, "fixed": self._fixed(done), "free": self.free})

    def _fixed(self, done: int) -> dict[str, dict[str, str]]:
        """The fixed part, with the steps done; later steps may change."""
        if self.sizes.ndim == 0:
            return self.fixed | {"h": {"": repr(float(self.sizes))}}
        if len(self.sizes) < done:
            return self.fixed | {"h": {"": f"{len(self.sizes)} steps"}}
        return self.fixed | {"h": {"": f"{done} steps {digest(self.sizes[:done].tobytes())}"}}

    def difference(self, kept: dict[str, Any], done: int) -> str:
        """The differences between the run of a checkpoint and this run, in words; empty if there are none."""
        now = self._fixed(done)
        words = []
        for name in ("h", "start", "scheme", "problem", "change"):
            changed = differences(kept["fixed"].get(name, {}), now[name])
            if not changed:
                continue
            before, after = (str(titles.get(name, ""))[:MAX_TITLE] for titles in (kept["titles"], self.titles))
            if name in ("h", "start"):
                words.append(f"{name} was {changed[0][1]}, now it is {changed[0][2]}")
            elif before != after:
                words.append(f"{name} was {before}, now it is {after} ({listed(changed, was)})")
            else:
                words.append(f"{name} was {before} and has changed: {listed(changed, was)}")
        return "; ".join(words)

    def changes(self, kept: dict[str, Any]) -> dict[str, list[str]]:
        """{name: [old, new]} for the settings that may change and did."""
        before = {name: str(kept["free"].get(name, NOT_RECORDED)) for name in CHANGEABLE}
        return {name: [before[name], self.free[name]] for name in CHANGEABLE if before[name] != self.free[name]}


def _free(name: str, value: Any, random: Any) -> str:
    if name != "until" or value is None:
        return repr(value)
    return f"{getattr(value, '__name__', type(value).__name__)} {digest(describe(value, random))}"
