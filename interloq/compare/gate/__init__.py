# SPDX-License-Identifier: Apache-2.0
"""Decide whether a new version may be released."""
