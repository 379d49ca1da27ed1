"""How a run can end, in one word and in a sentence."""

FINISHED, STOPPED, BLOCKED, INTERRUPTED, FAILED = "finished", "stopped", "blocked", "interrupted", "failed"
NOT_CONVERGED, BUDGET, RUNNING, KILLED = "not converged", "budget", "running", "killed"
MESSAGES = {
    FINISHED: "reached the end time",
    STOPPED: "reached its stopping condition",
    BLOCKED: "blocked: nobody has moved for a while",
    INTERRUPTED: "interrupted by Ctrl-C",
    FAILED: "ended by an error",
    NOT_CONVERGED: "some steps were not solved to the tolerance",
    BUDGET: "the budget of iterations was not enough for the tolerance in some steps",
    RUNNING: "still running",
    KILLED: "killed: the process that wrote it ended without notice",
}
"""What each status means."""
