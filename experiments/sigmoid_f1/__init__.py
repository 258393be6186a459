"""sigmoidF1 and other metrics as losses: the same head on frozen features, nine losses, several ways to decide."""
