"""What several tests of kernels need."""

import faulthandler

import pytest


@pytest.fixture
def no_hang():
    """A test that waits forever, perhaps in compiled code, ends the process, and says where."""
    faulthandler.dump_traceback_later(100, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
