# SPDX-License-Identifier: Apache-2.0
"""Public data sets, rated or not."""
