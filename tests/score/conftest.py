"""Fixtures that several files of this folder use."""

from tests.pipeline_fixtures import files, here, made

__all__ = ["files", "here", "made"]
