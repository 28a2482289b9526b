"""How anything is trained: job, loop, checkpoints, and how a model is kept."""
