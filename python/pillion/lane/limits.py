"""Resource limits, as messages carry them: `[number, soft, hard]`, in JSON's numbers."""

from __future__ import annotations

import resource

_INFINITE = 1 << 63


def lower(number: int, soft: int, hard: int) -> None:
    """Set a limit, but never above the one in force: what is lower already stays."""
    try:
        _, most = resource.getrlimit(number)
        hard = _least(hard, most)
        resource.setrlimit(number, (_least(soft, hard), hard))
    except (OSError, ValueError) as error:
        raise OSError(22, f"rlimit {number}: {error}") from None


def _least(one: int, other: int) -> int:
    finite = [limit for limit in (one, other) if 0 <= limit < _INFINITE]
    return min(finite, default=resource.RLIM_INFINITY)
