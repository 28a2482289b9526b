# SPDX-License-Identifier: Apache-2.0
"""Pretrained networks and their vectors, behind small interfaces used by all higher layers."""
