"""`jostle.scenarios.toml` beside tomli-w: ``python benchmarks/toml_writing.py [--quick]``.

All shipped scenarios, and one with a long list of points: seconds, length and lines of the text, and whether reading it
again gives the same values.
"""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from typing import Any

import numpy as np
import tomli_w

from jostle.scenarios import names, shipped
from jostle.scenarios.toml import document


def written(data: dict[str, Any], writer: Any, repeat: int) -> dict[str, Any]:
    best = np.inf
    for _ in range(repeat):
        begin = time.perf_counter()
        text = writer(data)
        best = min(best, time.perf_counter() - begin)
    again = tomllib.loads(text)
    return {"ms": 1e3 * best, "characters": len(text), "lines": text.count("\n"), "same": again == data}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer points")
    quick = parser.parse_args().quick
    cases = {name: tomllib.loads(shipped(name)) for name in names()}
    points = np.random.default_rng(0).normal(size=(10_000 if quick else 100_000, 2)).tolist()
    cases["points"] = {"problem": {"start": {"kind": "points", "points": points}}}
    rows = []
    print(
        f"{'scenario':22s}{'jostle ms':>10s}{'tomli-w ms':>11s}{'ratio':>7s}{'lines':>9s}{'tomli-w lines':>14s}  same"
    )
    for name, data in cases.items():
        ours, theirs = (written(data, writer, 3) for writer in (document, tomli_w.dumps))
        rows.append({"case": name, "jostle": ours, "tomli-w": theirs})
        print(f"{name:22s}{ours['ms']:10.3f}{theirs['ms']:11.3f}{theirs['ms'] / ours['ms']:7.2f}{ours['lines']:9d}"
              f"{theirs['lines']:14d}  {ours['same']}, {theirs['same']}")  # fmt: skip
    print(json.dumps({"toml": rows}))
