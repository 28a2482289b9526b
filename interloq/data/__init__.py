"""Everything that makes or reads records."""
