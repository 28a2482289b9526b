# SPDX-License-Identifier: Apache-2.0
"""Requests to language-model servers."""
