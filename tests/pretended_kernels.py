"""The kernels of the pretended device: those of the CPU, on what the arrays wrap."""

import pretended_device
from jostle.kernels import cpu
from jostle.kernels.interface import CONTACT_KERNELS

__all__ = sorted(CONTACT_KERNELS)
CALLED: set[str] = set()


def _on_device(name):
    def kernel(*args):
        CALLED.add(name)
        found = getattr(cpu, name)(*pretended_device.unwrapped(list(args)))
        return pretended_device.wrapped(found)

    return kernel


globals().update({name: _on_device(name) for name in CONTACT_KERNELS})
