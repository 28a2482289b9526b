# SPDX-License-Identifier: Apache-2.0
"""The command line: one file or folder per verb; each parses, calls one function and prints."""
