# SPDX-License-Identifier: Apache-2.0
"""Plots of the report, as SVG."""
