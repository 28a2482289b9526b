"""The scorer `judge`: one linear head per rated aspect on the states of a `relevance` network."""
