"""Likelihoods of texts under language models."""
