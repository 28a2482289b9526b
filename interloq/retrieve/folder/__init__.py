# SPDX-License-Identifier: Apache-2.0
"""The store that keeps an index in a folder."""
