# SPDX-License-Identifier: Apache-2.0
"""BERT-RUBER: Ghazarian et al., 2019."""
