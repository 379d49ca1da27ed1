"""Modules that cannot be imported where there is no GPU."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("cupy") else ["src/jostle/kernels/cuda/*"]
