"""Reports in a real Chromium: rendered, quiet, without network, no wider than a telephone, readable."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import PAGES
from paper_parts import paper_parts

import distmom as dm
from pipelines.paper.page import as_html

webdriver = pytest.importorskip("selenium.webdriver")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs Debian's chromium and chromium-driver"),
    pytest.mark.xdist_group("browser"),
]

CONTRAST = """
const linear = v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
const light = c => { const f = c.map(v => linear(v / 255));
  return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; };
const parts = text => text.match(/[\\d.]+/g).map(Number);
const behind = e => { for (; e; e = e.parentElement) { const c = parts(getComputedStyle(e).backgroundColor);
  if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
let worst = [99, ''];
const texts = 'p, li, dt, dd, th, td, h1, h2, h3, pre, .verdict, .text, .name, text';
for (const e of document.querySelectorAll(texts)) {
  if (!e.textContent.trim()) continue;
  const style = getComputedStyle(e), ink = parts(e.tagName === 'text' ? style.fill : style.color);
  const [a, b] = [light(ink), light(behind(e))].sort((x, y) => y - x);
  const ratio = (a + .05) / (b + .05);
  if (ratio < worst[0]) worst = [ratio, e.tagName + ' ' + e.className + ' ' + e.textContent.slice(0, 40)];
}
return worst;
"""

CLIPPED = """
const wide = document.documentElement.clientWidth, found = [];
for (const e of document.querySelectorAll('.scroll'))
  if (wide < 600 && !e.querySelector('.matrix') && e.scrollWidth > e.clientWidth + 1)
    found.push('scrolls aside: ' + e.textContent.trim().slice(0, 60));
for (const e of document.querySelectorAll('pre, p, li, dt, dd, summary, .name, .text, svg text')) {
  const box = e.getBoundingClientRect();
  if (!box.width || e.closest('.scroll')) continue;
  if (box.left < -1 || box.right > wide + 1 || (e.clientWidth && e.scrollWidth > e.clientWidth + 1))
    found.push(e.tagName + ' ' + e.textContent.slice(0, 60));
}
return found;
"""
"""Texts that stick out of the page or are cut off: not those of tables that scroll in their place, which on a
telephone only a matrix does."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless browser that keeps its console and its requests."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def look(browser: Any, page: Path, width: int, scheme: str) -> None:
    """Open a page and check what a reader would stumble over."""
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.get_log("performance")
    browser.get(page.as_uri())
    assert browser.get_log("browser") == []
    sent = [json.loads(line["message"])["message"] for line in browser.get_log("performance")]
    urls = {m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"}
    assert {url for url in urls if not url.startswith("data:")} <= {page.as_uri()}
    browser.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    wide, tall, dots = browser.execute_script(
        "const e = document.documentElement; return [e.scrollWidth, e.scrollHeight,"
        " document.querySelectorAll('svg.picture > *, td').length]"
    )
    assert wide <= width and tall > 600 and dots > 10
    assert browser.execute_script(CLIPPED) == []
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 3 * 128) == (scheme == "dark")
    ratio, where = browser.execute_script(CONTRAST)
    assert ratio >= 4.5, where


PAPER_WIDTH = 720
"""Pixels of a sheet of A4 between its margins."""


def check_print(browser: Any, page: Path) -> None:
    """Nothing of a page is cut off on paper."""
    metrics = {"width": PAPER_WIDTH, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.get(page.as_uri())
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert wide <= PAPER_WIDTH


def test_a_report_opens_in_a_browser(browser: Any, tmp_path: Path) -> None:
    dm.write_results(PAGES["outlying"](tmp_path), tmp_path / "page.html")
    look(browser, tmp_path / "page.html", 375, "light")
    look(browser, tmp_path / "page.html", 375, "dark")


def test_the_page_of_the_paper_opens_in_a_browser(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(as_html(paper_parts()), encoding="utf-8")
    look(browser, tmp_path / "page.html", 375, "light")
    look(browser, tmp_path / "page.html", 375, "dark")
    check_print(browser, tmp_path / "page.html")


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_every_kind_of_report_opens_on_every_screen(browser: Any, name: str, tmp_path: Path) -> None:
    dm.write_results(PAGES[name](tmp_path), tmp_path / "_page.html")
    for width in (320, 375, 1280):
        for scheme in ("light", "dark"):
            look(browser, tmp_path / "_page.html", width, scheme)
    check_print(browser, tmp_path / "_page.html")


@pytest.mark.slow
def test_a_page_that_asks_for_the_network_or_is_too_wide_is_found(browser: Any, tmp_path: Path) -> None:
    clipped = "<pre style='overflow: auto'>" + "x" * 400 + "</pre>"
    for body in (
        "<p>x</p><img src='https://example.invalid/a.png'>",
        "<div style='width: 999px'>x</div>",
        clipped + "<svg class='picture'>" + "<circle/>" * 20 + "</svg>",
    ):
        (tmp_path / "bad.html").write_text(f"<body style='background: white'>{body}" + "<p>x</p>" * 60)
        with pytest.raises(AssertionError):
            look(browser, tmp_path / "bad.html", 375, "light")
