# SPDX-License-Identifier: Apache-2.0
"""Metrics, one per file; the first line of each file names the paper."""
