# SPDX-License-Identifier: Apache-2.0
"""The main workflow, end to end (`interloq demo`), and the project folders of `interloq new`."""
