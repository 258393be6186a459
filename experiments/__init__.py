"""The claims of three papers, run again through the public interface: python -m experiments.NAME [--smoke]."""
