"""From softmax to sparsemax: maps and losses (figures 1, 2), label proportions (3), the multi-label table."""
