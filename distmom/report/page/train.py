"""A training: how it ended, and its learning curve."""

from __future__ import annotations

import numpy as np

from distmom.report.digits import quantity
from distmom.report.kinds.train import TrainResult
from distmom.report.page.advice import DESCRIBE, advice
from distmom.report.page.pictures import Curve, Line
from distmom.report.page.scales import Numbers, Powers
from distmom.report.page.telling import Telling, heading, mood
from distmom.report.words import cell, listed

FAR = 100.0
"""Losses with at least this ratio of largest to smallest have a logarithmic axis."""

USE = "Use the model."
LOOK = "Look at the curve: more steps, another step size or cleaner data may help."
BEYOND = "Do not rely on the model: find and remove the bad rows or files, and learn again."


def tell_train(r: TrainResult) -> Telling:
    """A training."""
    target = f" of {cell(r.target)}" if r.target else ""
    finite = np.isfinite(r.estimate)
    loss = f"its loss on {r.estimate_of} is {quantity(r.estimate)}" if finite else "it has no loss"
    answer = (
        f"{cell(r.learner)}{target} was trained in {r.n_steps:,} steps; {loss}.",
        _step(r),
        f"It ended with the status: {r.words}.",
    )
    survived = max(0, -(-r.n_blocks // 2) - 1)
    facts = [
        ("learner", cell(r.learner)),
        *([("target", cell(r.target))] if r.target else []),
        ("features", listed(map(cell, r.columns))),
        (f"loss of {r.estimate_of}", quantity(r.estimate)),
        ("steps", f"{r.n_steps:,}"),
        ("blocks of a step", f"{r.n_blocks:,} of {r.block_size:,} rows"),
        (
            "contamination tolerated",
            "none" if _plain(r) else f"outliers in up to {survived:,} blocks of a step",
        ),
        ("blocks that could not be used", f"{r.n_skipped_blocks:,}"),
        ("rows read", f"{r.n_rows:,}, {'all' if r.n_used == r.n_rows else f'{r.n_used:,}'} of them complete"),
        ("rows of the data", f"{r.data.get('n_rows', r.n_rows):,}, {r.mode}"),
    ]
    do = {"good": (USE,), "look": advice(r) or (LOOK,), "bad": (BEYOND, DESCRIBE)}[mood(r)]
    assumed = (
        "Rows are independent, and in each step fewer than half of the blocks hold outliers.",
        "The held-out blocks take no part in the steps; without them the loss is that of the blocks of the "
        "steps, which is biased low.",
    )
    return Telling(heading(r), answer, tuple(facts), (learning_curve(r),), assumed, mood(r), do)


def _plain(r: TrainResult) -> bool:
    return r.n_blocks == 1 or r.model.aggregator == "plain"


def _step(r: TrainResult) -> str:
    """What each step followed, and so what moves the model."""
    if _plain(r):
        rows = r.n_blocks * r.block_size
        return f"Each step used one batch of {rows:,} rows, so outliers in it move the model."
    blocks = f"{r.n_blocks:,} random blocks of {r.block_size:,} rows"
    one = r.model.aggregator == "median_block"
    first = "followed the block of median loss among" if one else "combined the gradients of"
    robustly = "" if one else " robustly"
    return (
        f"Each step {first} {blocks}{robustly}, so outliers in a minority of the blocks do not move it far."
    )


def learning_curve(r: TrainResult) -> Curve:
    """Loss of the block of each step, and of the held-out blocks at each evaluation."""
    steps = np.arange(1.0, r.n_steps + 1.0)
    losses = np.where(np.isfinite(r.history["objective"]), r.history["objective"], np.nan).astype(float)
    word = "loss of the batch" if _plain(r) else "median loss of the blocks"
    lines = [Line(word, steps, losses, strong=False)]
    if len(r.history["held_out_step"]):
        looks, held_out = (np.asarray(r.history[name], float) for name in ("held_out_step", "held_out"))
        lines.append(Line("loss of held-out blocks", looks, held_out))
    finite = losses[np.isfinite(losses)]
    far = bool(finite.size and finite.min() > 0.0 and finite.max() > FAR * finite.min())
    caption = "The loss should fall and then level off. Held-out blocks show whether the model fits new rows."
    scales, title = (Numbers(), Powers() if far else Numbers()), f"loss{' (log scale)' * far}"
    return Curve("Learning curve", caption, tuple(lines), "step", title, *scales, log_y=far)
