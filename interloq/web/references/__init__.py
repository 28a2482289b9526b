# SPDX-License-Identifier: Apache-2.0
"""References that people add."""
