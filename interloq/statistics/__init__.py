# SPDX-License-Identifier: Apache-2.0
"""Statistics that several layers share."""
