# SPDX-License-Identifier: Apache-2.0
"""RUBER's unreferenced scorer: Tao et al., 2018."""
