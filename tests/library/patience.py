"""Waiting for what real programs do in their own time."""

import time

# How long anything may take before a test fails instead of hanging, in seconds.
PATIENCE = 30


def eventually(check, complaint):
    """What `check` returns once it is true."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = check()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(complaint)
