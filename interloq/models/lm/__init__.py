"""Language models: how likely texts are to them."""
