# SPDX-License-Identifier: Apache-2.0
"""`python -m interloq.cli`, for use where the console command is not on the path."""

import sys

from interloq.cli.main import main

sys.exit(main())
