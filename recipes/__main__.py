"""`python recipes` runs reproduce.py, where mypy can see it: there are two modules of this name."""

import sys

from reproduce import main

sys.exit(main())
