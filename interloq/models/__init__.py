"""Networks and vectors behind small seams, shared by everything above."""
