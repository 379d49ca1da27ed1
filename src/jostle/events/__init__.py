"""`solve_by_events`: from impact to impact, without time steps."""
