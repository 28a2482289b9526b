# SPDX-License-Identifier: Apache-2.0
"""Causal language models that write replies, tuned or trained anew on logs of conversations."""
