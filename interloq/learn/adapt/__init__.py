"""Pretrained networks trained further on logs, and small ones from nothing."""
