"""The greedy rule of the textbooks: value per unit of weight."""


def priority(value: float, weight: float, capacity: float) -> float:
    """Value per weight."""
    return value / weight
