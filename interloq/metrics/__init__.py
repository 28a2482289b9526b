"""One metric a file, its paper in the first line."""
