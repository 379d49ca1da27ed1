"""The kernels by name: `reference` has their definitions, `cpu` what is compiled for arrays of NumPy."""

from types import SimpleNamespace

import jostle.crowds.kernels
import jostle.macro.kernels
import jostle.plans.kernels  # noqa: F401 - which makes their kernels known
from jostle.kernels.interface import KERNELS

NAMES = sorted(KERNELS)
reference = SimpleNamespace(**{name: KERNELS[name].definition for name in NAMES})
cpu = SimpleNamespace(**{name: KERNELS[name].serving("numpy") for name in NAMES})


def use_definitions(monkeypatch):
    """All kernels are computed by their definitions."""
    for name in NAMES:
        monkeypatch.setattr(KERNELS[name], "on_numpy", getattr(reference, name))
