"""Find a witness or a conflict for every label set. May be wrong and is never believed: `labelproof.proof` decides."""
