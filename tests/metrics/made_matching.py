"""A small encoder."""

from __future__ import annotations

from typing import Any

from interloq.models.encoder import Encoder


def looped(encoder: Encoder, reply: str, reference: str, idf: Any = None) -> list[float]:
    """P, R and both with min for max, token by token."""
    if not reply.strip() or not reference.strip():
        return [0.0] * 4
    sides = []
    for text in (reply, reference):
        (batch,) = encoder.encode([text])
        states = batch.states[0].double()
        weights = [0.0 if int(i) in encoder.special else idf(int(i)) if idf else 1.0 for i in batch.ids[0]]
        sides.append(([row / row.norm() for row in states], weights))
    (own, own_weights), (other, other_weights) = sides
    found = []
    for best in (max, min):
        for rows, weights, others in ((own, own_weights, other), (other, other_weights, own)):
            total = sum(w * best(float(a @ b) for b in others) for a, w in zip(rows, weights, strict=True))
            found.append(total / sum(weights) if sum(weights) else 0.0)
    return found
