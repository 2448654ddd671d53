"""Draws shapes in scene pixels on a picture of twice the size, so that edges come out smooth."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image, ImageDraw

from geo_assets.world.climate import RGB
from geo_assets.world.lettering import font

Point = tuple[float, float]

OVERSAMPLING = 2


class Pen:
    """A picture `width_px` × `height_px` and the tools to draw on it.

    All coordinates are scene pixels; `disc` and `box` take half sizes or edges as named.
    """

    def __init__(self, width_px: int, height_px: int) -> None:
        self.width_px, self.height_px = width_px, height_px
        self._image = Image.new("RGB", (width_px * OVERSAMPLING, height_px * OVERSAMPLING))
        self._draw = ImageDraw.Draw(self._image)

    def picture(self) -> Image.Image:
        """The drawn picture at scene size."""
        return self._image.reduce(OVERSAMPLING)

    def paste_sky(self, gradient: Image.Image, bottom_px: int) -> None:
        """Stretch a one-pixel-wide gradient over the picture, from the top to `bottom_px`."""
        size = (self.width_px * OVERSAMPLING, bottom_px * OVERSAMPLING)
        self._image.paste(gradient.resize(size, Image.Resampling.NEAREST), (0, 0))

    def polygon(self, points: Sequence[Point], fill: RGB) -> None:
        """A filled polygon."""
        self._draw.polygon([(x * OVERSAMPLING, y * OVERSAMPLING) for x, y in points], fill=fill)

    def box(
        self, left: float, top: float, right: float, bottom: float, fill: RGB, radius_px: float = 0
    ) -> None:
        """A filled rectangle, with round corners where a radius is given."""
        edges = [left * OVERSAMPLING, top * OVERSAMPLING, right * OVERSAMPLING, bottom * OVERSAMPLING]
        if edges[2] <= edges[0] or edges[3] <= edges[1]:
            return
        if radius_px:
            self._draw.rounded_rectangle(edges, radius=radius_px * OVERSAMPLING, fill=fill)
        else:
            self._draw.rectangle(edges, fill=fill)

    def disc(self, x: float, y: float, half_width: float, half_height: float, fill: RGB) -> None:
        """A filled ellipse around (x, y)."""
        left, top = (x - half_width) * OVERSAMPLING, (y - half_height) * OVERSAMPLING
        right, bottom = (x + half_width) * OVERSAMPLING, (y + half_height) * OVERSAMPLING
        self._draw.ellipse([left, top, right, bottom], fill=fill)

    def line(self, points: Sequence[Point], fill: RGB, width_px: float) -> None:
        """A line through points with rounded joints."""
        scaled = [(x * OVERSAMPLING, y * OVERSAMPLING) for x, y in points]
        self._draw.line(scaled, fill=fill, width=max(1, round(width_px * OVERSAMPLING)), joint="curve")

    def text(self, x: float, y: float, text: str, script: str, size_px: int, fill: RGB) -> None:
        """Text centred on (x, y)."""
        letters = font(script, size_px * OVERSAMPLING)
        self._draw.text((x * OVERSAMPLING, y * OVERSAMPLING), text, font=letters, fill=fill, anchor="mm")
