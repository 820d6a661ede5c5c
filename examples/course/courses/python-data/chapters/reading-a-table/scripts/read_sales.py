"""Begin here: read the sales of the bakery."""

import csv

with open("data/sales.csv", newline="", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))

print("Rows:", len(rows))
