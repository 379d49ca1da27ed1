"""One author, one file, equation numbers inside."""
