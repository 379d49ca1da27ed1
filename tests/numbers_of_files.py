"""All numbers of a trajectory file, for tests that compare two of them."""

import h5py


def contents(path):
    """The bytes of each data set of an HDF5 file."""
    found = {}
    with h5py.File(path, "r") as file:
        file.visititems(
            lambda name, thing: found.update({name: thing[()].tobytes()} if hasattr(thing, "dtype") else {})
        )
    return found
