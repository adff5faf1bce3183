"""Rendering of specimen documents: what is printed on them, the cards, and the camera."""
