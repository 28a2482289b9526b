# SPDX-License-Identifier: Apache-2.0
"""Playing until a ranking is settled, and audits of partner sets; built on play, metrics and meta."""
