# SPDX-License-Identifier: Apache-2.0
"""Compare two versions of a system."""
