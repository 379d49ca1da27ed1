"""The devices that a run can be computed on. CuPy is loaded here and nowhere else, when a run asks for a GPU."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from jostle._tools.installing import installing

ARRAYS = {"cpu": "numpy", "cuda": "cupy"}
"""The devices, each with the module of its arrays."""
OLDEST_CAPABILITY = 70
"""Ten times the compute capability of the oldest GPUs that can run the kernels, those of 2017."""
NEEDED = "an NVIDIA GPU with a driver for CUDA 12, which nvidia-smi shows"
"""What CuPy needs beside its package."""


def array_module(device: str) -> Any:
    """The module of the arrays of a device, numpy or cupy. A RuntimeError says why a device cannot be used.

    >>> array_module("cpu").__name__
    'numpy'
    >>> array_module("gpu")
    Traceback (most recent call last):
    ...
    RuntimeError: device 'gpu' is not supported; use 'cpu' or 'cuda'
    """
    if device not in ARRAYS:
        raise RuntimeError(f"device {device!r} is not supported; use {' or '.join(map(repr, ARRAYS))}")
    if device == "cpu":
        return import_module(ARRAYS[device])
    try:
        module = import_module(ARRAYS[device])
        count = module.cuda.runtime.getDeviceCount()
    except ImportError as error:
        what = f"device {device!r} needs {NEEDED}, and CuPy, which is not installed ({error})"
        raise RuntimeError(f"{what}. To install it:\n  {installing(extras='gpu')}") from None
    except RuntimeError as error:  # CuPy's error if the driver is missing or too old
        raise RuntimeError(f"device {device!r} cannot be used ({error}): it needs {NEEDED}") from None
    if count == 0:
        raise RuntimeError(f"device {device!r} cannot be used, there is no GPU: it needs {NEEDED}")
    capability = int(module.cuda.Device().compute_capability)
    if capability < OLDEST_CAPABILITY:
        raise RuntimeError(
            f"the GPU has compute capability {capability / 10:.1f}; kernels need {OLDEST_CAPABILITY / 10:.1f} at least"
        )
    return module
