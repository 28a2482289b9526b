# SPDX-License-Identifier: Apache-2.0
"""Long work cut into shards: computed by one process, several processes or several machines, with the same bytes."""
