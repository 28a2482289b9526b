# SPDX-License-Identifier: Apache-2.0
"""Answers as records, and Label Studio."""
