"""Prove which label combinations a multi-label classifier can ever predict."""
