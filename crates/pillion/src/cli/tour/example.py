"""The module that `pillion tour` calls. Any Python module would do."""

import time

import pillion


def mean(data: list[float]) -> float:
    """The arithmetic mean."""
    return sum(data) / len(data)


def norm(vector: list[float]) -> float:
    """The length of a vector, by numpy."""
    import numpy

    return float(numpy.linalg.norm(vector))


def greet(name: str) -> str:
    """Say hello, and print something on the way."""
    print("a print cannot break the protocol")
    return f"hello {name}"


def slow(seconds: float) -> str:
    """Take some time."""
    time.sleep(seconds)
    return "done"


def count(upto: int):
    """Count, with pauses: a generator is a stream."""
    for number in range(1, upto + 1):
        pillion.progress(number, upto, f"counting {number}")
        yield number
        time.sleep(0.15)
