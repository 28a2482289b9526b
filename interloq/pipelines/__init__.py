"""Several stages as one metric: extend, rate, score."""
