from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

import pillion


@dataclass
class Order:
    item: str
    count: int = 1
    due: date | None = None


def total(orders: list[Order], rate: float = 0.5) -> float:
    """The price of some orders.

    Args:
        orders: What was ordered.
    """
    return sum(10.0 * order.count for order in orders) * (1 + rate)


def latest(orders: list[Order]) -> Order:
    return max((order for order in orders if order.due), key=lambda order: order.due)


def count(n: int) -> Iterator[int]:
    """Count up."""
    for number in range(n):
        pillion.progress(number, n)
        yield number
    return "done"


@pillion.method(safety="read")
def greet(name: str = "nobody") -> str:
    return f'hello\n"{name}"'
