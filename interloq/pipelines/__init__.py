"""Pipelines that extend, rate and score in one call."""
