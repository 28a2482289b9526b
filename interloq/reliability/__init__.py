# SPDX-License-Identifier: Apache-2.0
"""REAM# (Gao et al., 2021): how reliable a set of references is."""
