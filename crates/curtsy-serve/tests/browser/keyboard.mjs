// With the keyboard alone.

import assert from "node:assert/strict";

import { end } from "./run.mjs";

/** Where the focus is, and whether one can see it. */
const focus = (page) =>
  page.evaluate(() => {
    const at = document.activeElement;
    const style = getComputedStyle(at);
    const { left, right, top, bottom } = at.getBoundingClientRect();
    const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    const inside = right > 0 && left < innerWidth && bottom > 0 && top < innerHeight;
    const before = window.focusedBefore;
    const follows = !before || Boolean(before.compareDocumentPosition(at) & Node.DOCUMENT_POSITION_FOLLOWING);
    window.focusedBefore = at;
    return { id: at.id, tag: at.tagName, words: at.textContent.trim().slice(0, 40), seen: outlined && inside, follows };
  });

/** Presses Tab until the focus is there, and gives all places on the way. */
async function tabTo(page, id, most = 40) {
  const places = [];
  while (places.at(-1)?.id !== id) {
    assert.ok(places.length < most, `no way to #${id}: ${places.map((place) => place.id || place.words)}`);
    await page.keyboard.press("Tab");
    places.push(await focus(page));
  }
  return places;
}

export default async function keyboard(walk, person) {
  const { sites } = walk;
  const { page } = person;

  await walk.step("keyboard: the first key leads past what every page begins with", person, async () => {
    await page.goto("/orbit/keys/import");
    await page.keyboard.press("Tab");
    const first = await focus(page);
    assert.deepEqual([first.words, first.seen], ["Skip to the content", true]);
    await walk.looker.picture(page, "keyboard-skip");
    await page.keyboard.press("Enter");
    assert.equal((await focus(page)).id, "main");
    const places = await tabTo(page, "url");
    assert.ok(!places.some((place) => place.words === "Health"), "the top of the page is left out");
  });

  await walk.step("keyboard: the focus is always seen, and goes as the page reads", person, async () => {
    await page.goto("/orbit/keys/import");
    const places = await tabTo(page, "start");
    const lost = places.filter((place) => !place.seen);
    assert.deepEqual(lost, [], "places where the focus is not seen");
    assert.ok(places.every((place) => place.follows), JSON.stringify(places));
    const ids = places.map((place) => place.id).filter(Boolean);
    assert.deepEqual(ids.slice(ids.indexOf("tab-intelligence")), [
      "tab-intelligence", "tab-manual", "tab-history", "url", "mode-standard", "userUrls", "show-plan", "start",
    ]);
    await walk.looker.picture(page, "keyboard-start");
  });

  await walk.step("keyboard: a mode is chosen with the arrows, and Enter starts the run", person, async () => {
    await page.goto("/orbit/keys/import");
    await tabTo(page, "url");
    await page.keyboard.type(sites.plumb);
    await tabTo(page, "mode-standard");
    await page.keyboard.press("ArrowDown");
    assert.ok(await page.isChecked("#mode-user_assisted"));
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    assert.ok(await page.isChecked("#mode-light"));
    assert.ok((await focus(page)).seen);
    await tabTo(page, "start");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/runs\/[0-9a-f]{32}$/);
    assert.equal(await end(page), "success");
  });

  await walk.step("keyboard: Enter in the address shows the plan, and starts nothing", person, async () => {
    await page.goto("/orbit/keys/import");
    await tabTo(page, "url");
    await page.keyboard.type(sites.plumb);
    await page.keyboard.press("Enter");
    await page.locator("#plan-figures").waitFor();
    await page.locator("#plan-form #start").waitFor();
  });

  await walk.step("keyboard: the result can be read to its end, tables and details included", person, async () => {
    await page.goto("/orbit/keys/import?tab=history");
    await page.locator("#runs a").first().click();
    await page.locator("#outcome").waitFor();
    const places = await tabTo(page, "domain", 400);
    assert.deepEqual(places.filter((place) => !place.seen), []);
    assert.ok(places.every((place) => place.follows));
    assert.ok(places.some((place) => place.tag === "SUMMARY"));
  });
}
