# SPDX-License-Identifier: Apache-2.0
"""Pages and figures for administrators."""
