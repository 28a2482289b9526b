"""Training of networks: jobs, the training loop, checkpoints and saved models."""
