"""Metrics, one per file; the first line of each file names the paper."""
