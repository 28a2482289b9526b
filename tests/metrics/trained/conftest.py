"""Fixtures that several files of this folder use."""

from tests.scorers.interlocutor.conftest import dcp_model, score_model

__all__ = ["dcp_model", "score_model"]
