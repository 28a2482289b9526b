"""A metric with given scores."""

from __future__ import annotations

REPLIES = ["the cat sat on the mat", "i like green tea a lot", "see you on monday then"]
OWN = [
    ["the cat sat on a mat", "a cat was on the mat"],
    ["i like tea a lot", "green tea for me"],
    ["until monday then", "see you monday"],
]
