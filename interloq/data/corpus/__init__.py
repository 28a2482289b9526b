"""Building a corpus: logs are cut into shards, cleaned in parallel, joined out of core, and walked into dialogues."""
