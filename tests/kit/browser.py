"""A real browser for tests: Chromium as this machine has it, or from Debian's packages, unpacked once into the cache.

Nothing is installed, so it needs no root. Delete the folder to get a newer one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from selenium import webdriver

from tests.kit import debian

PACKAGES: Final = ("chromium", "chromium-driver")
CONTRASTS: Final = """
const luminance = ([r, g, b]) => {
  const [R, G, B] = [r, g, b].map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * R + 0.7152 * G + 0.0722 * B;
};
const parts = colour => colour.match(/[\\d.]+/g).map(Number);
const ground = element => {
  for (let at = element; at; at = at.parentElement) {
    const colour = parts(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour;
    if (colour[3] !== 0) return null;
  }
  return null;
};
const found = [];
for (const element of document.querySelectorAll("body *")) {
  const written = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  if (!(written || element.value) || !element.checkVisibility()) continue;
  const behind = ground(element);
  const [light, dark] = [luminance(parts(getComputedStyle(element).color)), behind && luminance(behind)].sort((a, b) => b - a);
  found.push([element.tagName + "." + element.className, behind ? (light + 0.05) / (dark + 0.05) : 0]);
}
return found;
"""
"""The contrast of each written element with what is behind it, as WCAG 2 defines it."""


FAULTS: Final = """
const faults = [];
const say = (rule, element) => faults.push(rule + ": " + element.outerHTML.slice(0, 120));
const name = element => (element.getAttribute("aria-label") || element.textContent).trim();
if (document.documentElement.lang !== "en") faults.push("language");
if (!document.title.trim()) faults.push("title");
if (document.querySelectorAll("main").length !== 1) faults.push("main");
if (document.querySelectorAll("h1").length !== 1) faults.push("h1");
const ids = [...document.querySelectorAll("[id]")].map(element => element.id);
if (new Set(ids).size !== ids.length) faults.push("ids");
let level = 1;
for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
  const next = Number(heading.tagName[1]);
  if (next > level + 1) say("heading skips a level", heading);
  if (!heading.textContent.trim()) say("empty heading", heading);
  level = next;
}
for (const field of document.querySelectorAll("input:not([type=hidden]), textarea, select"))
  if (![...field.labels].some(label => label.textContent.trim())) say("no label", field);
for (const element of document.querySelectorAll("button, a, summary")) if (!name(element)) say("no name", element);
for (const link of document.querySelectorAll("a")) {
  const target = link.getAttribute("href");
  if (target.startsWith("#") && !document.getElementById(target.slice(1))) say("leads nowhere", link);
}
for (const element of document.querySelectorAll("[aria-labelledby]"))
  for (const id of element.getAttribute("aria-labelledby").split(" "))
    if (!document.getElementById(id)) say("labelled by nothing", element);
for (const element of document.querySelectorAll("nav, section, [role=group]"))
  if (!element.hasAttribute("aria-label") && !element.hasAttribute("aria-labelledby")) say("landmark without a name", element);
for (const element of document.querySelectorAll("[tabindex]")) if (element.tabIndex > 0) say("tabindex", element);
for (const element of document.querySelectorAll("script, style, [style], [onclick], img, iframe, object"))
  say("foreign", element);
for (const list of document.querySelectorAll("ul, ol"))
  for (const item of list.children) if (item.tagName !== "LI") say("not an item", item);
return faults;
"""
"""What is wrong with a page for people who do not see it, or use no mouse."""


@dataclass(frozen=True)
class Programs:
    """Where Chromium and its driver are, and what they need."""

    chromium: str
    driver: str
    environment: dict[str, str]


@contextlib.contextmanager
def opened() -> Iterator[webdriver.Chrome]:
    """A window of a browser without a profile."""
    found = programs()
    options = webdriver.ChromeOptions()
    options.binary_location = found.chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    service = webdriver.ChromeService(found.driver, env={**os.environ, **found.environment})
    driver = webdriver.Chrome(options=options, service=service)
    try:
        emulate(driver)
        yield driver
    finally:
        driver.quit()


def emulate(driver: webdriver.Chrome, scheme: str = "light", width: int = 1280, height: int = 900) -> None:
    """Makes the window one of a person who likes it light or dark, on a screen of this size."""
    command(driver, "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    command(
        driver,
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=height,
        deviceScaleFactor=1,
        mobile=width < 500,
    )


def command(driver: webdriver.Chrome, name: str, **parameters: Any) -> Any:
    """Sends a command of the DevTools protocol; returns its answer."""
    return driver.execute_cdp_cmd(name, parameters)


def logged(driver: webdriver.Chrome, kind: str) -> list[dict[str, Any]]:
    """What the browser has logged since the last call: `browser` for what a page did, `performance` for requests."""
    entries: list[dict[str, Any]] = driver.get_log(kind)  # type: ignore[no-untyped-call]
    return entries


def programs() -> Programs:
    """Chromium and its driver; the first call on a machine may download 130 MB."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium and driver:
        return Programs(chromium, driver, {})
    root = debian.unpacked("chromium", *PACKAGES)
    # Chromium finds its own libraries; some of them must not take the place of the machine's.
    own = root / "usr" / "lib" / "chromium"
    libraries = sorted({str(path.parent) for path in root.rglob("*.so*") if path.parent != own})
    environment = {"LD_LIBRARY_PATH": ":".join(libraries)}
    return Programs(str(root / "usr/lib/chromium/chromium"), str(root / "usr/bin/chromedriver"), environment)
