# SPDX-License-Identifier: Apache-2.0
"""How well scores predict labels, such as whether people replied."""
