"""Figures that Gao et al. (2021) print in their Tables 2 and 3."""

BLEU_STAR, BERTSCORE = "BLEU*", "BERTScore"
NETWORK_OF = {
    BLEU_STAR: "Aug-REAM#(BLEU*)",
    BERTSCORE: "Aug-REAM#(BS)",
}  # chosen by the network for a metric
TABLE_2 = {  # squared error, mean prediction and mean label by the number of references
    BLEU_STAR: {
        3: (0.006, 0.333, 0.340), 5: (0.006, 0.374, 0.379), 10: (0.006, 0.399, 0.402),
        20: (0.006, 0.412, 0.409), 30: (0.007, 0.413, 0.417), 40: (0.006, 0.422, 0.425),
    },
    BERTSCORE: {
        3: (0.006, 0.356, 0.355), 5: (0.006, 0.367, 0.375), 10: (0.006, 0.393, 0.404),
        20: (0.006, 0.397, 0.408), 30: (0.006, 0.406, 0.417), 40: (0.007, 0.417, 0.431),
    },
}  # fmt: skip
TABLE_3 = {  # Pearson and Kendall by the set of references
    "Raw": {BLEU_STAR: (0.246, 0.165), BERTSCORE: (0.288, 0.209)},
    NETWORK_OF[BERTSCORE]: {BLEU_STAR: (0.315, 0.261), BERTSCORE: (0.389, 0.318)},
    NETWORK_OF[BLEU_STAR]: {BLEU_STAR: (0.331, 0.269), BERTSCORE: (0.380, 0.311)},
    "Mix": {BLEU_STAR: (0.329, 0.266), BERTSCORE: (0.393, 0.319)},
}
ENDS = {metric: {1: TABLE_3["Raw"][metric][0], 10: TABLE_3[NETWORK_OF[metric]][metric][0]} for metric in NETWORK_OF}
