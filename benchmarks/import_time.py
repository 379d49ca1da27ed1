"""How long ``import jostle`` takes in a fresh interpreter, beside numpy alone: ``python benchmarks/import_time.py``."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

CODE = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def seconds(module: str, times: int) -> float:
    """The shortest of several imports, each in an interpreter of its own."""
    runs = [
        subprocess.run([sys.executable, "-c", CODE.format(module)], capture_output=True, check=True)
        for _ in range(times)
    ]
    return min(float(run.stdout) for run in runs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    times = 3 if parser.parse_args().quick else 10
    numpy, jostle = seconds("numpy", times), seconds("jostle", times)
    print(f"import numpy   {numpy:.3f} s")
    print(f"import jostle  {jostle:.3f} s  ({jostle / numpy:.2f} times numpy, which is part of it)")
    print(json.dumps({"import_numpy_s": numpy, "import_jostle_s": jostle, "ratio": jostle / numpy}))
