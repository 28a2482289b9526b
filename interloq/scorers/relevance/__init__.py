"""The scorers `relevance` and `valid`, which need no reference."""
