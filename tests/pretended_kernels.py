"""The kernels of the pretended device: those of the CPU, on what the arrays wrap."""

import pretended_device
from jostle.kernels.interface import KERNELS

OF_ROWS = {"rates", "magnitude", "adjoint", "norms", "whitened", "residual_pairs", "by_pair", "gauss_seidel"}
OF_PAIRS, OF_BODIES = (
    {"all_pairs", "pair_list", "near", "near_segments"},
    {"expected_ways", "outran", "stayed", "near_planes"},
)
OF_GRIPS = {"sweep_grips", "rates_grips", "adjoint_grips", "whitened_grips", "residual_grips"}
CONTACT_KERNELS = frozenset(OF_ROWS | OF_PAIRS | OF_BODIES | OF_GRIPS)
"""The names of the kernels that a step of many bodies needs: every device has them."""
CALLED: set[str] = set()


def _on_device(kernel):
    def called(*args):
        CALLED.add(kernel.name)
        return pretended_device.wrapped(kernel(*pretended_device.unwrapped(list(args))))

    return called


for _name in CONTACT_KERNELS:
    KERNELS[_name].on(pretended_device.__name__)(_on_device(KERNELS[_name]))
