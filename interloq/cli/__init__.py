# SPDX-License-Identifier: Apache-2.0
"""The command line: one file a verb; each parses, calls one function and prints."""
