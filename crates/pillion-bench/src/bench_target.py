"""The function that everybody calls."""


def echo(value):
    return value
