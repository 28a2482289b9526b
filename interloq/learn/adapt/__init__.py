"""Further training of pretrained networks on logs, and small networks from scratch."""
