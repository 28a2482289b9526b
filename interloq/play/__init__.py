"""Bots, and the dialogues they have with each other."""
