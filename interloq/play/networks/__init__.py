# SPDX-License-Identifier: Apache-2.0
"""Networks that write replies, trained on logs of conversations, one kind per file."""
