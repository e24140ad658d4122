"""Take the picture of README: ``python -m tests.docs.picture`` (needs Chromium).

Runs README's example in an empty folder, has its report written, and photographs the top of the page.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import distmom as dm
from tests.docs.documents import DOCS, blocks, pages

PICTURE = DOCS / "_static/report.png"
WIDTH, HEIGHT = 1000, 1000


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("the picture needs Chromium: apt-get install chromium")
    script = next(block.text for block in blocks(pages()["README.md"]) if block.language == "python")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(script, {"__name__": "__main__"})
        dm.write_results(dm.mean("orders", "amount", rng=0), "report.html")
        options = ["--headless", "--disable-gpu", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"]
        options += ["--no-sandbox"] if os.geteuid() == 0 else []
        page = Path("report.html").resolve().as_uri()
        subprocess.run([chromium, *options, f"--screenshot={PICTURE}", page], check=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
