# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML report of the results of metrics and meta-evaluation; it computes nothing itself."""
