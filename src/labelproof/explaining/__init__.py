"""Why a label set cannot be predicted, in label names, and which sets near it can be."""
