"""Which label combinations a trained model can never predict, and whether that matters."""
