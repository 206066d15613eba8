// Import by hand: a page's HTML, a text, a file.

import assert from "node:assert/strict";

import { end } from "./run.mjs";

const HTML = `<html><head><title>Salon Iris</title></head><body><h1>Salon Iris</h1>
<p>Phone: <a href="tel:+442079460777">020 7946 0777</a></p>
<h2>Prices</h2><table><tr><th>Treatment</th><th>Price</th></tr><tr><td>Haircut</td><td>£35.00</td></tr></table></body></html>`;

const TEXT = `Salon Iris

Phone: 020 7946 0777
E-mail: hello@iris.example

Opening hours
Monday 09:00 - 17:00
`;

export const ways = [
  { name: "pasted HTML", tile: "#tiles-pricing", says: /Haircut\s+35(\.00)? GBP/, fill: (page) => page.fill("#text", HTML) },
  { name: "pasted text", tile: "#tiles-contact", says: /hello@iris\.example/, fill: (page) => page.fill("#text", TEXT) },
  {
    name: "a file",
    tile: "#tiles-contact",
    says: /\+442079460777/,
    fill: (page) => page.setInputFiles("#file", { name: "iris.html", mimeType: "text/html", buffer: Buffer.from(HTML) }),
  },
];

/** Imports in one of the ways and looks for the tile that comes out. */
export async function bring(page, slug, { fill, tile, says }) {
  await page.goto(`/orbit/${slug}/import?tab=manual`);
  await fill(page);
  await page.fill("#source", "https://iris.example/");
  await page.click("#import");
  await page.waitForURL(/\/runs\/[0-9a-f]{32}$/);
  assert.equal(await end(page), "success");
  assert.match(await page.locator("#main").innerText(), /What you brought was read\. Nothing was fetched\./);
  assert.match((await page.locator(tile).innerText()).replace(/\s+/g, " "), says);
}

export default async function byHand(walk, person) {
  const { page, watch } = person;

  await walk.step("import by hand: what is wrong is said beside the form", person, async () => {
    watch.expect(422);
    await page.goto("/orbit/iris/import?tab=manual");
    await walk.look(page, "manual");
    await page.click("#import");
    assert.match(await page.locator("#form-error").innerText(), /There is nothing to import/);
    await page.fill("#text", TEXT);
    await page.setInputFiles("#file", { name: "menu.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF") });
    await page.click("#import");
    assert.match(await page.locator("#form-error").innerText(), /either a text or a file, not both/);
    assert.equal(await page.inputValue("#text"), TEXT, "what was typed is kept");
    await walk.look(page, "manual-error");
  });

  for (const way of ways) {
    await walk.step(`import by hand: ${way.name} becomes tiles`, person, () => bring(page, "iris", way));
  }
  await walk.step("import by hand: the run's page", person, () => walk.look(page, "run-imported"));
}
