"""Arguments of an exposed function: checked, and put where Python takes them."""

from __future__ import annotations

from pillion import coerce
from pillion.errors import Fault
from pillion.resolve import near

TYPE_CHECKING = False
if TYPE_CHECKING:
    import inspect
    from typing import Any

# Problems that one error names.
MAX_PROBLEMS = 5


def bind(
    name: str, signature: inspect.Signature | None, hints: dict[str, Any], given: Any
) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments from what a caller gave, or `invalid_params`."""
    if given is None:
        given = {}
    if not isinstance(given, (dict, list)):
        raise Fault("invalid_params", "arguments are an object (by name) or an array")
    if signature is None:
        return ([], given) if isinstance(given, dict) else (given, {})
    parameters = dict(signature.parameters)
    problems: list[str] = []
    if isinstance(given, list):
        given = _by_name(parameters, given, problems)
    bound = _Binding(parameters, hints, given, problems)
    if problems:
        more = len(problems) - MAX_PROBLEMS
        text = "; ".join(problems[:MAX_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")
        hint = bound.hint or f"its signature is `{name}{signature}`"
        raise Fault("invalid_params", f"{name}: {text}", hint=hint)
    return bound.args, bound.kwargs


def _by_name(
    parameters: dict[str, inspect.Parameter], items: list[Any], problems: list[str]
) -> dict[str, Any]:
    named: dict[str, Any] = {}
    rest = list(items)
    for name, parameter in parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            named[name], rest = rest, []
        elif rest and parameter.kind in (
            parameter.POSITIONAL_ONLY,
            parameter.POSITIONAL_OR_KEYWORD,
        ):
            named[name] = rest.pop(0)
    if rest:
        problems.append(f"takes {len(items) - len(rest)} arguments by place, not {len(items)}")
    return named


class _Binding:
    """Named arguments, checked, in the form in which Python takes them."""

    def __init__(
        self,
        parameters: dict[str, inspect.Parameter],
        hints: dict[str, Any],
        given: dict[str, Any],
        problems: list[str],
    ) -> None:
        self.parameters = parameters
        self.hints = hints
        self.problems = problems
        self.args: list[Any] = []
        self.kwargs: dict[str, Any] = {}
        self.hint: str | None = None
        self.gap = False
        rest = dict(given)
        extra = None
        for name, parameter in parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                extra = name
            elif parameter.kind is parameter.VAR_POSITIONAL:
                self._several(name, rest.pop(name, []))
            elif name in rest and not self._means_default(parameter, rest[name]):
                self._one(parameter, rest.pop(name))
            else:
                rest.pop(name, None)
                if parameter.default is parameter.empty:
                    problems.append(f"`{name}` is missing")
                elif parameter.kind is parameter.POSITIONAL_ONLY:
                    self.args.append(parameter.default)
                else:
                    self.gap = True
        for name, value in rest.items():
            if extra is None:
                problems.append(f"there is no parameter `{name}`")
                alike = near(name, parameters)
                if alike:
                    self.hint = f"did you mean `{alike[0]}` instead of `{name}`?"
            else:
                self.kwargs[name] = self._fit(value, extra, name)

    def _means_default(self, parameter: inspect.Parameter, value: Any) -> bool:
        """Models write null where they mean nothing."""
        if value is not None or parameter.default is parameter.empty:
            return False
        hint = self.hints.get(parameter.name)
        return parameter.default is None or (hint is not None and not coerce.accepts_null(hint))

    def _one(self, parameter: inspect.Parameter, value: Any) -> None:
        fitting = self._fit(value, parameter.name, parameter.name)
        by_place = parameter.kind is parameter.POSITIONAL_ONLY or (
            parameter.kind is parameter.POSITIONAL_OR_KEYWORD and not self.gap
        )
        if by_place:
            self.args.append(fitting)
        else:
            self.kwargs[parameter.name] = fitting

    def _several(self, name: str, values: Any) -> None:
        if not isinstance(values, list):
            self.problems.append(f"`{name}` must be an array")
            return
        if values and self.gap:
            # What comes before must be given by place too.
            for parameter in self.parameters.values():
                if parameter.kind is parameter.VAR_POSITIONAL:
                    break
                if len(self.args) <= list(self.parameters).index(parameter.name):
                    default = parameter.default
                    self.args.append(self.kwargs.pop(parameter.name, default))
        self.args += [self._fit(v, name, f"{name}[{index}]") for index, v in enumerate(values)]

    def _fit(self, value: Any, parameter: str, path: str) -> Any:
        if parameter not in self.hints:
            return value
        try:
            return coerce.coerce(value, self.hints[parameter], path)
        except coerce.Misfit as problem:
            self.problems.append(str(problem))
            return None
