"""Reading, writing and building files of records."""
