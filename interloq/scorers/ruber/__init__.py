"""RUBER's unreferenced scorer: Tao et al., 2018."""
