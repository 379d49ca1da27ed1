"""The kernels by name: `reference` has their definitions, `cpu` what is compiled for arrays of NumPy."""

from types import SimpleNamespace

import contact_definitions
import jostle.crowds.model.kernels
import jostle.macro.kernels  # noqa: F401 - which makes its kernels known
import kernel_definitions
import solid_definitions
from jostle.kernels.interface import KERNELS

NAMES = sorted(KERNELS)
DEFINED = {**vars(kernel_definitions), **vars(solid_definitions), **vars(contact_definitions)}
reference = SimpleNamespace(**{name: DEFINED[name] for name in NAMES})
cpu = SimpleNamespace(**{name: KERNELS[name].serving("numpy") for name in NAMES})


def use_definitions(monkeypatch):
    """All kernels are computed by their definitions."""
    for name in NAMES:
        monkeypatch.setattr(KERNELS[name], "on_numpy", getattr(reference, name))
