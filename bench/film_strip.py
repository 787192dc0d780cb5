"""The first twenty seconds on one picture: `python -m bench.film_strip` writes docs/images/first-seconds.png.

Eight pictures of the front page of a server that was just started and that nobody has asked, without a key or a click.
It needs Chromium and the packages of requirements-dev.txt; nothing leaves this machine.
"""

import io
import time

from PIL import Image, ImageDraw, ImageFont

from bench.screenshots import WIDE, studio

PICTURES = 8
EVERY = 2.5
"""Seconds between pictures, the first so long after the address was opened."""
WIDTH = 560
"""Pixels of a picture on the strip, two rows of four."""
GAP, CAPTION = 8, 20
"""Pixels between the pictures, and of the line above each that tells its time."""
COLOURS = 256


def main() -> None:
    with studio(__doc__) as (browser, site, folder):
        page = browser.new_page(viewport={"width": WIDE[0], "height": WIDE[1]})  # in motion
        began, shots = time.monotonic(), []
        page.goto(site.url, wait_until="commit")
        for number in range(1, PICTURES + 1):
            page.wait_for_timeout(max(0.0, 1000 * (began + EVERY * number - time.monotonic())))
            taken = time.monotonic() - began
            shots.append((taken, Image.open(io.BytesIO(page.screenshot()))))
        _strip(shots).save(folder / "first-seconds.png", optimize=True)


def _strip(shots: list[tuple[float, Image.Image]]) -> Image.Image:
    """Return the pictures in two rows, each with its second above it, in few colours."""
    columns, height = PICTURES // 2, WIDTH * WIDE[1] // WIDE[0]
    size = columns * (WIDTH + GAP) - GAP, 2 * (height + CAPTION + GAP) - GAP
    strip = Image.new("RGB", size, "white")
    draw, font = ImageDraw.Draw(strip), ImageFont.load_default(14)
    for place, (seconds, shot) in enumerate(shots):
        row, column = divmod(place, columns)
        x, y = column * (WIDTH + GAP), row * (height + CAPTION + GAP)
        draw.text((x, y), f"{seconds:.1f} s", fill="#444", font=font)
        strip.paste(shot.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS), (x, y + CAPTION))
    return strip.quantize(COLOURS, dither=Image.Dither.NONE)


if __name__ == "__main__":
    main()
