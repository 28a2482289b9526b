# SPDX-License-Identifier: Apache-2.0
"""The scorer `judge`: one linear head per rated aspect on the states of a `relevance` network."""
