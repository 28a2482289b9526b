# SPDX-License-Identifier: Apache-2.0
"""Metrics made from other metrics or stages."""
