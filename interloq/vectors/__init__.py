"""Word vectors: trained from logs with GloVe, or read from files."""
