# SPDX-License-Identifier: Apache-2.0
"""Word vectors: trained from logs with GloVe, or read from files."""
