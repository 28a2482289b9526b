"""BERT-RUBER: Ghazarian et al., 2019."""
