"""Rating references: how good each is as a reply."""
