# SPDX-License-Identifier: Apache-2.0
"""Join samples and metrics: evaluate, check, explain, probe."""
