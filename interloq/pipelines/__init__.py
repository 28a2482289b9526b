# SPDX-License-Identifier: Apache-2.0
"""Pipelines that extend, rate and score in one call."""
