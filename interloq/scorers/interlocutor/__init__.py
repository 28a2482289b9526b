# SPDX-License-Identifier: Apache-2.0
"""Models that judge replies as the person in the dialogue would."""
