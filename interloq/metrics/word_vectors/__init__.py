# SPDX-License-Identifier: Apache-2.0
"""Metrics over word vectors."""
