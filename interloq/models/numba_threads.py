# SPDX-License-Identifier: Apache-2.0
"""Start numba's threads without changing the number of threads of other libraries."""

from __future__ import annotations

from functools import cache
from threading import Thread

import numba


@cache
def start_threads() -> None:
    """Call this before numba's first parallel loop.

    With OpenMP, the thread that starts them gets numba's number of threads for all its OpenMP work, including torch's,
    regardless of OMP_NUM_THREADS and `torch.set_num_threads`. So they are started by a thread that does nothing else.
    """
    starter = Thread(target=numba.get_num_threads)
    starter.start()
    starter.join()
