"""Finding replies in logs that could answer a given utterance."""
