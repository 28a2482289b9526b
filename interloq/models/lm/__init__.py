# SPDX-License-Identifier: Apache-2.0
"""Likelihoods of texts under language models."""
