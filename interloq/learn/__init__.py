# SPDX-License-Identifier: Apache-2.0
"""Training of networks: jobs, the training loop, checkpoints and saved models."""
