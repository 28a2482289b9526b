# SPDX-License-Identifier: Apache-2.0
"""Metrics from networks that were trained to score replies."""
