"""Public data sets, rated or not."""
