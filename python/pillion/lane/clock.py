"""A clock that stands still, for runs that must give the same answer every time.

Wall-clock time as Python code asks for it: `time.time`, `time_ns`, `gmtime`, `localtime`, `ctime`,
`asctime`, `strftime`, `clock_gettime(CLOCK_REALTIME)`, and `datetime.datetime` and `date` with
`now`, `today` and `utcnow`. Not covered: monotonic clocks (on purpose: programs measure and sleep
by them), names that a module took by `from time import time` before the run began, C code with
a clock of its own (`numpy.datetime64("now")`, `pandas.Timestamp.now`), time stamps of files, and
other processes that the program starts.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def stand_still(at: float) -> None:
    """Let wall-clock time be `at`, in seconds since the epoch, from now on."""
    import datetime
    import time

    _freeze_time(time, at)
    _freeze_datetime(datetime, at)


def _freeze_time(time: Any, at: float) -> None:
    nanoseconds = int(at * 1_000_000_000)
    real = {name: getattr(time, name) for name in ("gmtime", "localtime", "ctime")}
    real_asctime, real_strftime = time.asctime, time.strftime
    real_gettime, real_gettime_ns = time.clock_gettime, time.clock_gettime_ns
    wall = time.CLOCK_REALTIME

    def make(name: str) -> Any:
        def converted(seconds: float | None = None, /) -> Any:
            return real[name](at if seconds is None else seconds)

        return converted

    frozen = {
        "time": lambda: at,
        "time_ns": lambda: nanoseconds,
        **{name: make(name) for name in real},
        "asctime": lambda *when: real_asctime(*(when or (real["localtime"](at),))),
        "strftime": lambda form, *when: real_strftime(form, *(when or (real["localtime"](at),))),
        "clock_gettime": lambda clock: at if clock == wall else real_gettime(clock),
        "clock_gettime_ns": lambda clock: nanoseconds if clock == wall else real_gettime_ns(clock),
    }
    for name, function in frozen.items():
        function.__name__ = function.__qualname__ = name
        function.__module__ = "time"
        setattr(time, name, function)


def _freeze_datetime(datetime: Any, at: float) -> None:
    import copyreg

    real_date, real_datetime = datetime.date, datetime.datetime

    # Each class stands for the real one: what it makes are real dates, and real dates are its.
    class Standing(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, cls._real) if "_real" in vars(cls) else _own(cls, instance)

        def __subclasscheck__(cls, subclass: type) -> bool:
            if "_real" in vars(cls):
                return issubclass(subclass, cls._real)
            return type.__subclasscheck__(cls, subclass)

    def _own(cls: type, instance: object) -> bool:
        return type.__instancecheck__(cls, instance)

    class date(real_date, metaclass=Standing):  # noqa: N801
        _real = real_date

        def __new__(cls, *args: Any, **named: Any) -> Any:
            return real_date.__new__(real_date if "_real" in vars(cls) else cls, *args, **named)

        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(at)

    class datetime_(real_datetime, metaclass=Standing):  # noqa: N801
        _real = real_datetime

        def __new__(cls, *args: Any, **named: Any) -> Any:
            return real_datetime.__new__(
                real_datetime if "_real" in vars(cls) else cls, *args, **named
            )

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return cls.fromtimestamp(at, tz)

        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(at)

        @classmethod
        def utcnow(cls) -> Any:
            return cls.fromtimestamp(at, datetime.timezone.utc).replace(tzinfo=None)

    for made, name in ((date, "date"), (datetime_, "datetime")):
        made.__name__ = made.__qualname__ = name
        made.__module__ = "datetime"
        made.__doc__ = made._real.__doc__
        # A pickle names the class, and finds ours by that name.
        copyreg.pickle(made._real, lambda value, made=made: (made, value.__reduce__()[1]))
    datetime.date, datetime.datetime = date, datetime_
