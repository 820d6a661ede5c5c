"""Do the arguments fit? Asked only after a call has failed, so that good calls pay nothing."""

from __future__ import annotations

from pillion.errors import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any

NO_ARGS: tuple[Any, ...] = ()
NO_KWARGS: dict[str, Any] = {}


def arguments(params: Any) -> tuple[Any, dict[str, Any]]:
    """Positional and keyword arguments from a call's `params`."""
    if params is None:
        return NO_ARGS, NO_KWARGS
    if isinstance(params, dict):
        return NO_ARGS, params
    if isinstance(params, list):
        return params, NO_KWARGS
    raise Fault(
        "invalid_params",
        "`params` must be an object (keyword arguments), an array (positional ones) or null",
    )


def explain(
    error: TypeError,
    function: Callable[..., Any],
    args: Any,
    kwargs: dict[str, Any],
    invoke: CodeType,
) -> tuple[list[Any], dict[str, Any]] | None:
    """Judge a `TypeError` of a call.

    Returns other arguments that do fit (names given for positional-only parameters), raises
    `invalid_params` if the signature does not take these, or returns None: the error came from
    inside the function and stands as it is.
    """
    if not _before_the_body(error, function, invoke):
        return None
    import inspect

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return _judge_by_text(error)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as problem:
        fitting = None if args else _by_position(signature, kwargs)
        if fitting is not None:
            return fitting
        raise Fault(
            "invalid_params",
            f"{_name(function)}{signature}: {problem}",
            hint=_near_parameter(signature, kwargs),
            type="TypeError",
        ) from None
    # Fits by its signature, yet a C function may know better than its own text.
    return _judge_by_text(error)


def _before_the_body(error: TypeError, function: Any, invoke: CodeType) -> bool:
    """Was the error raised before the function's own code began?"""
    codes = []
    trace = error.__traceback__
    while trace is not None:
        codes.append(trace.tb_frame.f_code)
        trace = trace.tb_next
    if invoke not in codes:
        return False
    below = codes[codes.index(invoke) + 1 :]
    if not below:
        return True
    # A decorator's wrapper: its inner function must not have been entered, and must be the one
    # that the message talks about.
    inner = function
    while hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    code = getattr(inner, "__code__", None)
    own = getattr(inner, "__qualname__", None)
    return (
        inner is not function
        and code is not None
        and code not in below
        and str(error).startswith(f"{own}()")
    )


def _judge_by_text(error: TypeError) -> None:
    text = str(error)
    if "argument" in text and any(
        phrase in text
        for phrase in (
            " takes ",
            "required argument",
            "expected at ",
            "unexpected keyword",
            " given",
        )
    ):
        raise Fault("invalid_params", text, type="TypeError") from None


def _by_position(signature: Any, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]] | None:
    """Named values for parameters that Python takes only by position, put where they belong."""
    args: list[Any] = []
    rest = dict(kwargs)
    gap = False
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            if name not in rest:
                gap = True
            elif gap:
                return None
            else:
                args.append(rest.pop(name))
        elif parameter.kind is parameter.VAR_POSITIONAL and isinstance(rest.get(name), list):
            if gap:
                return None
            args.extend(rest.pop(name))
    try:
        signature.bind(*args, **rest)
    except TypeError:
        return None
    return args, rest


def _near_parameter(signature: Any, kwargs: dict[str, Any]) -> str | None:
    from pillion.resolve import near

    for name in kwargs:
        if name not in signature.parameters:
            found = near(name, signature.parameters)
            if found:
                return f"did you mean `{found[0]}` instead of `{name}`?"
    return None


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or type(function).__qualname__
