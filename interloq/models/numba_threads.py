"""The threads in which numba runs its loops, started so that they disturb nobody else."""

from __future__ import annotations

from functools import cache
from threading import Thread

import numba


@cache
def start_threads() -> None:
    """Call this before the first loop that numba runs in parallel.

    Where these run on OpenMP, the thread that starts them gets numba's number of threads for all its OpenMP work, that
    of torch too, whatever OMP_NUM_THREADS or `torch.set_num_threads` said. So a thread starts them that does no more.
    """
    starter = Thread(target=numba.get_num_threads)
    starter.start()
    starter.join()
