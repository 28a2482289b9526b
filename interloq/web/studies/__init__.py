# SPDX-License-Identifier: Apache-2.0
"""Tasks of a study and the data they come from."""
