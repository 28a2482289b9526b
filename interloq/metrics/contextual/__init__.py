# SPDX-License-Identifier: Apache-2.0
"""Metrics over the vectors of pretrained encoders."""
