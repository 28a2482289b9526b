# SPDX-License-Identifier: Apache-2.0
"""Rate references: how good each one is as a reply."""
