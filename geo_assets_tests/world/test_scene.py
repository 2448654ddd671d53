"""The pictures: size, determinism, and that each clue changes what is drawn where it should."""

from __future__ import annotations

import io
import random
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from geo_assets.world import clues, scene
from geo_assets.world.camera import HEIGHT_PX, WIDTH_PX, aim
from geo_assets.world.lens import expose
from geo_assets.world.places import places

PLAIN = frozenset({"centre_line"})


def clues_of(iso2: str, **changes) -> clues.Clues:
    base = clues.sample_clues(random.Random(iso2), places(iso2, "train")[0])
    return replace(base, **changes)


def view(given: clues.Clues, seed: int = 3) -> np.ndarray:
    """The scene before the lens, so that noise hides nothing."""
    rng = random.Random(seed)
    setting = scene.choose_setting(rng, given)
    return np.asarray(scene.draw_view(rng, given, setting)).astype(int)


def count(pixels: np.ndarray, colour: tuple[int, int, int], tolerance: int = 24) -> int:
    return int((np.abs(pixels - np.array(colour)).max(axis=-1) <= tolerance).sum())


@pytest.mark.parametrize("iso2", sorted(clues.COUNTRIES))
def test_every_country_draws_an_rgb_picture_of_the_right_size(iso2):
    picture = scene.draw_scene(random.Random(1), clues_of(iso2))
    assert (picture.mode, picture.size) == ("RGB", (WIDTH_PX, HEIGHT_PX))


def test_the_same_seed_gives_the_same_bytes():
    def draw(seed):
        rng = random.Random(seed)
        return scene.encode_jpeg(rng, scene.draw_scene(rng, clues_of("JP")))

    assert draw(5) == draw(5) != draw(6)
    assert Image.open(io.BytesIO(draw(5))).format == "JPEG"


def test_driving_side_mirrors_the_road():
    """The centre line lies left of the vanishing point where traffic keeps right."""
    for iso2, side in (("US", "right"), ("AU", "left")):
        given = clues_of(iso2, drive_side=side, centre_line="yellow", edge_line="none", shows=PLAIN)
        given = replace(given, line_style="double", vegetation="none")
        strip = view(given)[HEIGHT_PX - 60 : HEIGHT_PX - 20]
        columns = np.nonzero(np.abs(strip - np.array((238, 196, 40))).max(axis=-1) < 30)[1]
        assert len(columns) > 100
        assert (columns.mean() < WIDTH_PX / 2) == (side == "right")


def test_the_sun_stands_right_of_the_road_when_it_is_in_the_south():
    for side in ("south", "north"):
        given = clues_of("ZA", sun_side=side, sun_height_deg=40.0, shows=frozenset({"sun"}))
        sky = view(given)[: int(HEIGHT_PX * 0.38)]
        columns = np.nonzero(np.abs(sky - np.array((255, 250, 205))).max(axis=-1) < 6)[1]
        assert len(columns) > 200
        assert (columns.mean() > WIDTH_PX / 2) == (side == "south")


@pytest.mark.parametrize(
    ("kind", "colour"), [("yellow diamond", (250, 205, 25)), ("yellow triangle", (252, 210, 40))]
)
def test_warning_signs_show_their_colours(kind, colour):
    given = clues_of("SE", warning_sign=kind, shows=frozenset({"warning_sign"}))
    pixels = view(given)
    assert count(pixels, colour) > 700
    assert (count(pixels, (205, 20, 30)) > 500) == ("triangle" in kind)
    without = view(replace(given, shows=frozenset()))
    assert count(without, colour) < 50


def test_a_board_carries_the_name_in_the_countrys_colours():
    given = clues_of("FR", board="red rim", shows=frozenset({"script"}))
    assert count(view(given)[:200], (205, 20, 30)) > 1500
    assert count(view(replace(given, board="green"))[:200], (20, 110, 70)) > 5000
    assert given.sign_text == given.sign_text.upper()


def test_rear_plates_keep_their_colour_at_the_size_the_model_sees():
    given = clues_of("GB", plate_rear="yellow", drive_side="left", shows=frozenset({"car"}))
    rng = random.Random(8)
    picture = expose(rng, scene.draw_view(rng, given, scene.choose_setting(rng, given)))
    small = np.asarray(picture.resize((160, 128), Image.Resampling.BICUBIC)).astype(int)
    yellow = (small[..., 0] - small[..., 2] > 90) & (small[..., 1] - small[..., 2] > 60)
    assert yellow[70:110].sum() > 25


def test_scatter_of_the_camera_keeps_the_horizon_in_the_picture():
    for seed in range(50):
        camera = aim(random.Random(seed), "left")
        assert 200 < camera.horizon_px < 230
        assert camera.own == -1 and camera.own_edge_px < camera.vanish_px < camera.far_edge_px
        assert camera.y(0) == camera.horizon_px and camera.y(1) > HEIGHT_PX
