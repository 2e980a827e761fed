"""What test_rq.py's worker runs."""


def double(number):
    return number * 2


def fail():
    raise ValueError("on purpose")
