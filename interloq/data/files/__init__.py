# SPDX-License-Identifier: Apache-2.0
"""Open, write and replace files."""
