"""Rate references: how good each one is as a reply."""
