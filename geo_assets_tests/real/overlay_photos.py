"""Real photos with camera text drawn on them, to measure `geo_assets.osv.overlays` with.

The text is drawn at twice the size and scaled down with the photo's own JPEG artefacts added, as dash cameras
do it: white, yellow, red or black, outlined or on a box, left, centred or right, one or two lines.
"""

from __future__ import annotations

import io
import random
import zipfile
from pathlib import Path

import matplotlib
from PIL import Image, ImageDraw, ImageFont

FONTS = [Path(matplotlib.get_data_path()) / "fonts/ttf" / f"{name}.ttf" for name in (
    "DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono", "DejaVuSansMono-Bold", "DejaVuSerif",
)]  # fmt: skip
FONTS.append(Path(__file__).parents[2] / "geo_assets/data/fonts/Latin.ttf")
COLOURS = [(255, 255, 255), (250, 250, 245), (255, 230, 40), (255, 60, 40), (120, 255, 120), (5, 5, 5)]


def real_photos(data: Path) -> list[tuple[str, Image.Image]]:
    """The clean street photos, by name: 89 of OSV-5M and 20 others; the panoramas are left out."""
    photos = []
    with zipfile.ZipFile(data / "osv_real/images/test/00.zip") as archive:
        for info in sorted(archive.infolist(), key=lambda i: i.filename):
            photos.append((info.filename, Image.open(io.BytesIO(archive.read(info))).convert("RGB")))
    for path in sorted((data / "own_photos").glob("*.jpg")):
        image = Image.open(path).convert("RGB")
        if image.width < 1.9 * image.height:
            image.thumbnail((910, 512))
            photos.append((path.name, image))
    return photos


def camera_text(rng: random.Random) -> str:
    """What a dash camera or phone app writes: date, position, speed, or several of them."""
    lat, lon = rng.uniform(-60, 70), rng.uniform(-180, 180)
    date = rng.choice(
        ["2019/05/04 11:52:07", "04-05-2019 11:52:07", "2021-11-30 08:14", "05/04/2019 11:52 AM"]
    )
    place = rng.choice([
        f"N {abs(lat):.5f} E {abs(lon):.5f}", f"{lat:.6f}, {lon:.6f}", f"Lat: {lat:.5f} Lon: {lon:.5f}",
        f"N:{abs(lat):.4f} W:{abs(lon):.4f}",
    ])  # fmt: skip
    speed = rng.choice(["48 km/h", "63KM/H", "35 MPH", "SPEED 072 km/h"])
    kinds = {
        "date": date, "place": place, "date place": f"{date}  {place}", "place speed": f"{place}  {speed}",
        "all": f"{date} {speed} {place}", "date speed": f"{date}   {speed}",
    }  # fmt: skip
    return kinds[rng.choice(sorted(kinds))]


def burn_in(image: Image.Image, rng: random.Random) -> tuple[Image.Image, int]:
    """A copy of the photo with camera text; and the y of its upper edge."""
    scale = 2
    big = image.resize((image.width * scale, image.height * scale), Image.Resampling.BICUBIC)
    size_px = rng.uniform(0.018, 0.042) * image.height
    font = ImageFont.truetype(rng.choice(FONTS), round(size_px * scale))
    lines = [camera_text(rng) for _ in range(rng.choice([1, 1, 1, 2]))]
    pen = ImageDraw.Draw(big)
    while max(pen.textlength(line, font=font) for line in lines) > big.width * 0.96:
        font = ImageFont.truetype(font.path, font.size - 1)
    colour, style = rng.choice(COLOURS), rng.choice(["plain", "outline", "outline", "box", "shadow"])
    dark = sum(colour) < 100
    step = round(font.size * 1.25)
    margin = rng.uniform(0.004, 0.03) * big.height
    top = big.height - margin - step * len(lines)
    if style == "box":
        pen.rectangle(
            [0, top - font.size * 0.3, big.width, big.height], fill=(235,) * 3 if dark else (10,) * 3
        )
    for number, line in enumerate(lines):
        width = pen.textlength(line, font=font)
        x = rng.choice([0.01 * big.width, (big.width - width) / 2, 0.99 * big.width - width])
        at = (x, top + number * step)
        if style == "shadow":
            pen.text(
                (at[0] + 2 * scale / 2, at[1] + scale), line, font=font, fill=(255,) * 3 if dark else (0,) * 3
            )
        stroke = round(rng.uniform(0.5, 1.2) * scale) if style == "outline" else 0
        pen.text(at, line, font=font, fill=colour, stroke_width=stroke,
                 stroke_fill=(255,) * 3 if dark else (0,) * 3)  # fmt: skip
    small = big.resize(image.size, Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=rng.choice([75, 85, 92]))
    return Image.open(buffer).convert("RGB"), int(top / scale)
