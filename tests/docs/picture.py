"""Take the picture of README: ``python -m tests.docs.picture`` (needs Chromium).

Runs README's example in an empty folder, has its report written, and photographs the top of the page.
Its words are kept beside the picture: a test compares them with those of today's page.
"""

import contextlib
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import distmom as dm
from tests.docs.documents import DOCS, blocks, pages

PICTURE = DOCS / "_static/report.png"
WORDS = Path(__file__).with_name("picture.txt")
WIDTH, HEIGHT = 1000, 1000


def write_report() -> Path:
    """Run README's example in the working directory, and write the report of its mean."""
    script = next(block.text for block in blocks(pages()["README.md"]) if block.language == "python")
    exec(script, {"__name__": "__main__"})
    dm.write_results(dm.mean("orders", "amount", rng=0), "report.html")
    return Path("report.html").resolve()


def words_of(report: Path) -> str:
    """The words at the top of a report, one element a line."""
    page = re.sub(r"(?s)<(style|svg|title).*?</\1>", "", report.read_text("utf-8"))
    lines = (html.unescape(line).strip() for line in re.sub(r"<[^>]+>", "\n", page).splitlines())
    text = "\n".join(line for line in lines if line)
    return text[: text.index("Each dot is a block")]


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("the picture needs Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        report = write_report()
        options = ["--headless", "--disable-gpu", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"]
        options += ["--no-sandbox"] if os.geteuid() == 0 else []
        subprocess.run([chromium, *options, f"--screenshot={PICTURE}", report.as_uri()], check=True)
        WORDS.write_text(words_of(report), "utf-8")
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
