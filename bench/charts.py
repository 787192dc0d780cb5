"""How long Chromium takes to draw points with plotly, as SVG and as WebGL, without a graphics card.

    python -m bench.charts
    python -m bench.charts --points 2000,10000 --pages 5

One trace of points like the map's, from a new page to the frame after it is drawn. The script is the one
that comes with the plotly package; Streamlit's own build cannot draw WebGL under the pages' security policy.
"""

import argparse
from pathlib import Path
from statistics import median

import plotly
from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS

SCRIPT = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
SOFTWARE_GL = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")

_DRAW = """
async ([kind, count]) => {
  const at = (turn) => Float64Array.from({ length: count }, (_, n) => Math.sin(n * turn) * 43758.5453 % 1);
  const trace = { type: kind, mode: 'markers', x: at(12.9898), y: at(78.233), marker: { size: 7, opacity: .75 } };
  trace.text = Array.from({ length: count }, (_, n) => `passage ${n}`);
  const began = performance.now();
  await Plotly.newPlot('chart', [trace], { width: 700, height: 330 });
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  return performance.now() - began;
}
"""


def drawn(browser: Browser, kind: str, points: int, pages: int) -> str:
    """Milliseconds in the middle of so many pages."""
    took: list[float] = []
    for _ in range(pages):
        page = browser.new_page()
        page.set_content("<!doctype html><div id='chart'></div>")
        page.add_script_tag(path=SCRIPT)
        took.append(page.evaluate(_DRAW, [kind, points]))
        if "WebGL is not supported" in page.locator("#chart").inner_text():
            return "not drawn"
        page.close()
    return f"{median(took):.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", default="500,2000,5000,10000")
    parser.add_argument("--pages", type=int, default=3, help="how many times each")
    args = parser.parse_args()
    flags = [flag for flag in FLAGS if flag != "--disable-gpu"]
    print("| points | SVG | WebGL |\n|---|---|---|")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=[*flags, *SOFTWARE_GL])
        for points in map(int, args.points.split(",")):
            cells = [drawn(browser, kind, points, args.pages) for kind in ("scatter", "scattergl")]
            print(f"| {points:,} | {' | '.join(cells)} |", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
