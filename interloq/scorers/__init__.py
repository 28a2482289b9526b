# SPDX-License-Identifier: Apache-2.0
"""Networks trained to score replies, each with its examples, its task and its model."""
