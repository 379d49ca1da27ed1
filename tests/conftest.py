"""The suite does the same however it was started."""

import signal

# a shell that starts a job in the background makes it ignore Ctrl-C, of which some tests are
signal.signal(signal.SIGINT, signal.default_int_handler)
