"""Networks trained to score replies, each with its examples, its task and its model."""
