"""Pictures of small classifiers: the regions of their label sets, and which sets they can predict. Need matplotlib."""

from labelproof.pictures.arrangement import Region, draw_arrangement, regions
from labelproof.pictures.attended_words import draw_attention
from labelproof.pictures.hasse import draw_hasse

__all__ = ["Region", "draw_arrangement", "draw_attention", "draw_hasse", "regions"]
