"""Decisions about simulated systems whose truth is known: false alarms, misses and coverage."""
