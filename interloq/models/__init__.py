"""Pretrained networks and their vectors, behind small interfaces used by all higher layers."""
