"""Statistics that several layers share."""
