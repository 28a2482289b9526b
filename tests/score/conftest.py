"""Fixtures that several files of this folder use."""

from tests.pipeline_fixtures import files, made

__all__ = ["files", "made"]
