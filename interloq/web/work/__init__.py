# SPDX-License-Identifier: Apache-2.0
"""Items that people get, and their answers."""
