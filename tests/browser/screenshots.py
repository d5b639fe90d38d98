"""Pictures of each lesson after a run, in light and dark: python3 lab.py screenshots [FOLDER] [LESSON ...]

One tall picture each, the whole notebook on it, in a folder that git ignores. For looking at, not for comparing.
"""

import sys
import tempfile
from pathlib import Path

import harness

TALLEST = 16_000  # pixels; Chromium's pictures end there


def picture(lesson, path):
    """Save one picture that shows the whole notebook."""
    inner = ".jp-WindowedPanel-outer"
    height = lesson.page.evaluate(f"document.querySelector('{inner}').scrollHeight") + 120
    lesson.page.set_viewport_size({"width": 1400, "height": min(height, TALLEST)})
    lesson.page.evaluate(f"document.querySelector('{inner}').scrollTo(0, 0)")
    lesson.page.screenshot(path=path)


def main(argv):
    words = list(argv)
    folder = Path(words.pop(0) if words else harness.ROOT / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    names = sorted(path.stem for path in (harness.ROOT / "notebooks").glob("*.ipynb"))
    chosen = [name for name in names if not words or any(name.startswith(word) for word in words)]
    with tempfile.TemporaryDirectory() as home, harness.lab(home) as server, harness.chromium() as browser:
        for name in chosen:
            for theme in ("light", "dark"):
                with harness.page_of(browser, server) as page:
                    lesson = harness.Lesson(page, server, name).open(theme).run_all()
                    picture(lesson, folder / f"{name}-{theme}.png")
                server.end_kernels()
                print(folder / f"{name}-{theme}.png", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
