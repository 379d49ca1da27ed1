"""What a run returns: states, impacts, energies, statistics, and how it ended."""
