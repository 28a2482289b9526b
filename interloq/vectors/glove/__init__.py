"""GloVe: training word vectors on texts."""
