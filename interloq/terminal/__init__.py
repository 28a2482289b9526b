# SPDX-License-Identifier: Apache-2.0
"""Tables and texts for the terminal."""
