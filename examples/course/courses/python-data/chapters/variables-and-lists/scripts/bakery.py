"""Loaves sold by a small bakery, Monday to Sunday of one week."""

loaves = [42, 38, 51, 40, 65, 80, 23]

print("Days:", len(loaves))
print("Monday:", loaves[0])
print("Wednesday:", loaves[2])
