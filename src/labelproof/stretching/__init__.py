"""How far beyond all mixtures of known inputs a label set lies: the search, the bar, pairs and dead labels."""
