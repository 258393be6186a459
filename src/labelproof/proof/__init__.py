"""What a verdict claims, and the code that every proof of one rests on."""
