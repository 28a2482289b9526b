# SPDX-License-Identifier: Apache-2.0
"""How well metrics agree with people."""
