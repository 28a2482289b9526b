# SPDX-License-Identifier: Apache-2.0
"""The main workflow, end to end, on conversations that come with the package: see `interloq demo`."""
