"""``python -m jostle`` is the command line."""

from jostle.cli import main

main()
