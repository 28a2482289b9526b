# SPDX-License-Identifier: Apache-2.0
"""Reading, writing and building files of records."""
