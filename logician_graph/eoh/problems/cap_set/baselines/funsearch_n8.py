"""The priority with which FunSearch found a cap set of 512 vectors for n = 8 (Nature 625, 2024, Figure 4), rewritten.

Two places mirror each other when they are as far from the second place as from the end. It is meant for n = 8 and says
little elsewhere.
"""


def priority(vector: tuple[int, ...], n: int) -> float:
    """Counts mirrored places that agree, one way with zeros in the vector and the other way without."""
    agree = [place < n and vector[place] == vector[-place] for place in (1, 2, 3)]
    zeros = vector.count(0)
    score = n * 0.5 ** sum(agree[:2]) if zeros else (n + n**2) * 1.5 ** sum(agree)
    rank = 0
    for entry in vector:
        if entry:
            score += 1
            continue
        if rank == 0:
            score *= n / 2
        elif rank == zeros - 1:
            score /= 2
        else:
            score *= n / 2**rank
        rank += 1
    return score * 1.5 ** sum(agree[:2])
