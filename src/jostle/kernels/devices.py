"""The devices that a run can be computed on. CuPy is loaded here and nowhere else, when a run asks for a GPU."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from jostle.errors import DeviceUnavailable

ARRAYS = {"cpu": "numpy", "cuda": "cupy"}
"""The devices, each with the module of its arrays."""
INSTALL = (
    "install CuPy with pip install 'jostle[gpu]'; it needs an NVIDIA GPU with a driver for CUDA 12, which nvidia-smi "
    "shows"
)


def array_module(device: str) -> Any:
    """The module of the arrays of a device, numpy or cupy, if the device can be used.

    >>> array_module("cpu").__name__
    'numpy'
    >>> array_module("gpu")
    Traceback (most recent call last):
    ...
    jostle.errors.DeviceUnavailable: device 'gpu' is not supported; use 'cpu' or 'cuda'
    """
    if device not in ARRAYS:
        raise DeviceUnavailable(f"device {device!r} is not supported; use {' or '.join(map(repr, ARRAYS))}")
    if device == "cpu":
        return import_module(ARRAYS[device])
    try:
        module = import_module(ARRAYS[device])
        count = module.cuda.runtime.getDeviceCount()
    except ImportError as error:
        raise DeviceUnavailable(f"device {device!r} needs CuPy, which is not here ({error}): {INSTALL}") from None
    except RuntimeError as error:  # CuPy's error if the driver is missing or too old
        raise DeviceUnavailable(f"device {device!r} cannot be used ({error}): {INSTALL}") from None
    if count == 0:
        raise DeviceUnavailable(f"device {device!r} cannot be used, there is no GPU: {INSTALL}")
    return module
