# SPDX-License-Identifier: Apache-2.0
"""Further training of pretrained networks on logs, and small networks from scratch."""
