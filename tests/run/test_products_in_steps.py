"""No step gives long vectors to BLAS, whose threads wait busily for the next product and slow the sweeps down."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("products_in_steps.py")


def test_steps_of_many_bodies_do_not_use_blas():
    """Use `jostle._tools.arrays.dot` or `squares`, or a kernel, in place of a product that this test names."""
    done = subprocess.run([sys.executable, "-W", "ignore", str(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["looked"] > 20  # products of short vectors and of linear maps are allowed
    assert told["found"] == []
