"""What all attacks have in common. An attack that gets anywhere says ESCAPED."""

import os
import sys

given = dict(argument.split("=", 1) for argument in sys.argv[1:])
boxed = given.get("level") == "L3"
tried = 0


def attempt(name, action, *arguments, **more):
    """Try it. It must fail, or bring nothing: a true value is what it brought."""
    global tried
    tried += 1
    try:
        brought = action(*arguments, **more)
    except (OSError, ValueError, ImportError) as error:
        print("held", name, type(error).__name__, error)
        return
    if brought:
        print("ESCAPED", name, repr(brought)[:200], flush=True)
    else:
        print("held", name)


def done():
    """The last line: an attack that broke half way has not been held."""
    print("tried", tried)
