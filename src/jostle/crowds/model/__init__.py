"""People who walk on floor plans: groups, goals, behaviours, gates and stairs."""
