"""Why a refactoring is refused, and what is answered then."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = dict[str, Any]


class RefusedError(Exception):
    """A refactoring that would not keep the program as it is, or makes no sense."""

    def __init__(self, code: str, message: str, hint: str | None = None, **data: object) -> None:
        super().__init__(message)
        self.answer = {"code": code, "message": message, "hint": hint, "data": data or None}


def incomplete() -> RefusedError:
    """A range that begins or ends inside of a statement."""
    return RefusedError(
        "invalid_params",
        "the range does not hold whole statements",
        "let it begin and end with the lines of whole statements of one block",
    )


def answered(work: Callable[[], Answer]) -> Answer:
    """The answer that work gives, or the reason for which it was refused."""
    from rope.base.exceptions import RefactoringError, RopeError

    with warnings.catch_warnings():
        # About escapes in the strings of users' code.
        warnings.simplefilter("ignore")
        try:
            return work()
        except RefusedError as refused:
            return {"refused": refused.answer}
        except RefactoringError as error:
            return {"refused": _refused(f"this cannot be done: {error}")}
        except RopeError:
            return {"refused": _refused("Rope does not understand this code")}


def _refused(message: str) -> dict[str, Any]:
    return RefusedError("conflict", message, "choose another range").answer
