"""A table of customers that never were: 4,000 rows, blanks, categories, and a rule with noise.

It is made by Python's own generator, whose numbers are the same everywhere. Whether somebody leaves
depends on products and thresholds of columns, so that a linear rule does not find it all.
"""

from __future__ import annotations

import math
from functools import cache
from random import Random

from .table import Table

ROWS = 4000
HEADER = (
    "customer", "tenure_months", "monthly_charge", "total_charge", "contract", "internet",
    "payment", "support_calls", "age", "region", "churn",
)  # fmt: skip
CONTRACTS = {"monthly": 0.55, "one year": 0.25, "two years": 0.20}
INTERNET = {"fibre": 0.45, "dsl": 0.35, "no line": 0.20}
PAYMENTS = {"card": 0.3, "transfer": 0.3, "electronic cheque": 0.3, "cheque": 0.1}
REGIONS = {f"region {letter}": 1 / (i + 1) for i, letter in enumerate("ABCDEFGHIJKL")}
PRICES = {"fibre": 80.0, "dsl": 52.0, "no line": 22.0}


@cache
def customers() -> Table:
    """Return the table; it is the same each time.

    Examples
    --------
    >>> table = customers()
    >>> len(table.rows), table.header[:2]
    (4000, ('customer', 'tenure_months'))
    """
    random = Random(20160627)
    return Table(HEADER, tuple(_customer(random, i) for i in range(ROWS)))


def _customer(random: Random, number: int) -> tuple[str, ...]:
    contract, internet, payment, region = (
        random.choices(list(shares), list(shares.values()))[0]
        for shares in (CONTRACTS, INTERNET, PAYMENTS, REGIONS)
    )
    tenure = int(72 * random.random() ** (2.0 if contract == "monthly" else 0.8))
    charge = max(15.0, PRICES[internet] + 10 * random.gauss(0, 1))
    calls = min(9, int(random.expovariate(0.7)))
    age = 18 + int(62 * random.random())
    leaning = (
        {"monthly": 0.4, "one year": -1.2, "two years": -2.4}[contract]
        + (1.1 if internet == "fibre" and charge > 80 else 0.0)
        + (0.6 * calls if contract == "monthly" else 0.15 * calls)
        - 1.8 * math.tanh(tenure / 18)
        + (0.7 if payment == "electronic cheque" else 0.0)
        + 0.9 * math.cos(age / 9)
        + (0.8 if region in ("region C", "region F") and tenure < 12 else 0.0)
        - 0.4
    )
    leaves = random.random() < 1 / (1 + math.exp(-1.6 * leaning))
    total = "" if tenure == 0 else f"{charge * tenure * (1 + 0.05 * random.gauss(0, 1)):.2f}"
    return (
        f"C{number:05d}",
        str(tenure),
        f"{charge:.2f}",
        total,
        contract,
        "" if random.random() < 0.04 else internet,
        payment,
        "" if random.random() < 0.06 else str(calls),
        "NA" if random.random() < 0.08 else str(age),
        region,
        "yes" if leaves else "no",
    )
