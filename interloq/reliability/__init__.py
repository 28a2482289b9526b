"""REAM# (Gao et al., 2021): how reliable a set of references is."""
