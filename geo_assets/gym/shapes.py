"""The drawn miniature of NLVR2: pairs of pictures with coloured shapes, and statements about them.

Pictures are 64 × 64 px. Statements come in turn, first a true one, then a false one of the same kind, so that
no word of a statement tells whether it holds. Train and test pairs come from different generators.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from PIL import Image

from geo_assets.world.pen import Pen

SIDE_PX = 64
COLOURS = {"red": (205, 40, 45), "blue": (45, 80, 200), "yellow": (235, 195, 40), "green": (40, 140, 70)}
SHAPES = ("circle", "square", "triangle")
MOST = 3
PLACES = ((18, 19), (46, 20), (20, 46), (45, 45))

Drawn = tuple[str, bool, Callable[[], tuple[Image.Image, ...]], str]
"""Statement, whether it holds, a function that draws both pictures, and what one has to see in them."""


@dataclass(frozen=True)
class Figure:
    """What one picture shows: `count` shapes of one kind and colour."""

    colour: str
    shape: str
    count: int
    seed: int

    def draw(self) -> Image.Image:
        """The picture."""
        rng = random.Random(self.seed)
        pen = Pen(SIDE_PX, SIDE_PX)
        shade = rng.randint(225, 250)
        pen.box(0, 0, SIDE_PX, SIDE_PX, (shade, shade, shade))
        for x, y in rng.sample(PLACES, self.count):
            at = (x + rng.uniform(-3, 3), y + rng.uniform(-3, 3))
            _draw_shape(pen, self.shape, *at, rng.uniform(9, 12), COLOURS[self.colour])
        return pen.picture()


def _draw_shape(pen: Pen, shape: str, x: float, y: float, half: float, colour: tuple[int, int, int]) -> None:
    if shape == "circle":
        pen.disc(x, y, half, half, colour)
    elif shape == "square":
        pen.box(x - half, y - half, x + half, y + half, colour)
    else:
        pen.polygon([(x, y - half), (x + half, y + half), (x - half, y + half)], colour)


@dataclass(frozen=True)
class Kind:
    """A kind of statement: its words for a subject, what to look at, and whether it holds for a pair."""

    words: str
    subjects: tuple[str, ...]
    look: Callable[[Figure, Figure], str]
    holds: Callable[[Figure, Figure, str], bool]


def _colours(a: Figure, b: Figure) -> str:
    return f"{a.colour}, {b.colour}"


KINDS_OF_LEVEL = {1: 2, 2: 4, 3: 6}
"""How many kinds of statement a level has: one image alone, both colours, shapes and sameness."""
KINDS = (
    Kind("the left image is {s}", tuple(COLOURS), _colours, lambda a, b, s: a.colour == s),
    Kind("the right image is {s}", tuple(COLOURS), _colours, lambda a, b, s: b.colour == s),
    Kind("both images are {s}", tuple(COLOURS), _colours, lambda a, b, s: a.colour == b.colour == s),
    Kind("one image is {s}", tuple(COLOURS), _colours, lambda a, b, s: (a.colour == s) != (b.colour == s)),
    Kind("the left image has a {s}", SHAPES, lambda a, b: a.shape, lambda a, b, s: a.shape == s),
    Kind("the images have the same {s}", ("colour",), _colours, lambda a, b, s: a.colour == b.colour),
)


def draw_pairs(split: str, size: int, seed: int, level: int = 3) -> Iterator[Drawn]:
    """`size` tasks with the statements of a level and of those below it."""
    kinds = KINDS[: KINDS_OF_LEVEL[level]]
    for index in range(size):
        rng = random.Random(f"{seed}/shapes/{split}/{index}")
        kind, wanted = kinds[index // 2 % len(kinds)], index % 2 == 0
        subject = rng.choice(kind.subjects)
        pair = _pair(rng, kind, subject, wanted)
        yield kind.words.format(s=subject), wanted, _drawer(*pair), kind.look(*pair)


def _pair(rng: random.Random, kind: Kind, subject: str, wanted: bool) -> tuple[Figure, Figure]:
    """Two figures for which the statement holds or does not, as wanted."""
    while True:
        first, second = _figure(rng), _figure(rng)
        if kind.holds(first, second, subject) == wanted:
            return first, second


def _figure(rng: random.Random) -> Figure:
    colour, shape = rng.choice(list(COLOURS)), rng.choice(SHAPES)
    return Figure(colour, shape, rng.randint(1, MOST), rng.getrandbits(32))


def _drawer(*pair: Figure) -> Callable[[], tuple[Image.Image, ...]]:
    return lambda: tuple(figure.draw() for figure in pair)
