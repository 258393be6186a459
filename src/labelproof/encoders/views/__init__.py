"""Several views of one input side by side: the features that the recipe of `labelproof.training` chooses from."""
