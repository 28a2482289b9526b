# SPDX-License-Identifier: Apache-2.0
"""Logs of other tools as dialogues, and scores in forms that those tools read."""
