"""GloVe, from texts to vectors."""
