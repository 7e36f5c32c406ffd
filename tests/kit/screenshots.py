"""Writes the pictures in docs/images: `make pictures`."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path
from typing import Final

from tests.kit import approval_page, browser, paths, terminal_picture, trace_picture

FOLDER: Final = paths.ROOT / "docs" / "images"
SIZES: Final = {
    "light": ("light", 800, 1000, 0),
    "dark": ("dark", 800, 1000, 100_000),
    "narrow": ("light", 360, 1400, 0),
}
"""Colours, pixels of the window, and how far down it is scrolled."""
MAX_BYTES: Final = 150_000


def main() -> None:
    """Takes the pictures of a terminal, of a trace, and of a plan that waits."""
    FOLDER.mkdir(exist_ok=True)
    text = terminal_picture.session()
    for file, colours in terminal_picture.FILES.items():
        file.write_text(terminal_picture.draw(text, colours), "utf-8")
    trace_picture.FILE.write_text(trace_picture.draw(trace_picture.record()), "utf-8")
    with tempfile.TemporaryDirectory() as name:
        _take_plan(Path(name))


def _take_plan(folder: Path) -> None:
    """Takes a plan's page in each size."""
    with approval_page.served(folder) as served, browser.opened() as window:
        made = served.add(*approval_page.release())
        window.get(served.link(made))
        for kind, (scheme, width, height, down) in SIZES.items():
            browser.emulate(window, scheme, width, height)
            window.get(served.address(made))
            window.execute_script(
                "document.documentElement.style.scrollBehavior = 'auto'; scrollTo(0, arguments[0])", down
            )
            picture = base64.b64decode(browser.command(window, "Page.captureScreenshot", format="png")["data"])
            assert len(picture) < MAX_BYTES, f"{kind}: {len(picture)} bytes"
            FOLDER.joinpath(f"plan-{kind}.png").write_bytes(picture)


if __name__ == "__main__":
    main()
