"""Blocks of the propositions for one sample, as the tables of the paper have them."""

from distmom.theory.paper import mogu_blocks, morgu_blocks


def mou_blocks(confidence_level: float, n_rows: int, degree: int = 2) -> tuple[int, int]:
    n_blocks, (size,) = mogu_blocks(confidence_level, (n_rows,), (degree,))
    return n_blocks, size


def morm_blocks(confidence_level: float, tau: float, n_rows: int, degree: int = 1) -> tuple[int, int]:
    n_blocks, (size,) = morgu_blocks(confidence_level, tau, (n_rows,), (degree,))
    return n_blocks, size
