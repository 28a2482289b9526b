# SPDX-License-Identifier: Apache-2.0
"""Building a corpus: logs are split into shards, cleaned in parallel, joined out of core, and made into dialogues."""
