"""The arrangement of a classifier's label sets on a plane: which region of inputs gives which set."""

from labelproof.explorer.drawing.region_drawing import Anchor, Picture, draw

__all__ = ["Anchor", "Picture", "draw"]
