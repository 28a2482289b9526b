"""How well metrics agree with people."""
