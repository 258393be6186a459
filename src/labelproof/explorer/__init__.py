"""A local web page on which one tries label combinations, and sees at once which can be predicted.

Needs the packages of ``pip install 'labelproof[audit]'``.
"""

from labelproof.explorer.server import make_app, serve

__all__ = ["make_app", "serve"]
