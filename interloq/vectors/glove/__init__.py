# SPDX-License-Identifier: Apache-2.0
"""GloVe: training word vectors on texts."""
