// What stands in the way: a bot wall and the way on, pages that a person names, a site that refuses or is not there.

import assert from "node:assert/strict";

import { end, evidence, figures, fill, start } from "./run.mjs";

export default async function wall(walk, person) {
  const { sites } = walk;
  const { page, watch } = person;

  await walk.step("a wall: the blocked tile says what stood in the way and what can be done", person, async () => {
    await fill(page, "lucia", { url: sites.shy, mode: "standard" });
    await start(page);
    assert.equal(await end(page), "blocked");
    const tile = await page.locator(".blocked-tile").innerText();
    assert.match(tile, /The site showed a bot check instead of the page\./);
    assert.match(tile, /We don’t solve bot checks/);
    assert.match(tile, /Use the user-assisted mode/);
    assert.match(tile, /Import by hand/);
    assert.match(tile, /The friction was recorded\./);
    assert.equal((await figures(page))["Risk of the host"], "25 of 100, medium");
    await walk.look(page, "run-blocked");
  });

  await walk.step("from the wall to the user-assisted mode: the addresses are filled in", person, async () => {
    await page.click("#use-assisted");
    await page.locator("#handed-over").waitFor();
    assert.ok(await page.isChecked("#mode-user_assisted"));
    assert.equal(await page.inputValue("#userUrls"), sites.shy);
    assert.equal(await page.inputValue("#url"), sites.shy);
    await walk.look(page, "import-handed-over");
    await start(page);
    assert.equal(await end(page), "success");
    assert.match(await page.locator("#tiles-contact").innerText(), /\+442079460321/);
    assert.equal((await figures(page))["Mode"], "User-assisted");
  });

  await walk.step("a wall that stays is left alone, and hands over to import by hand", person, async () => {
    const order = { url: sites.walled, mode: "user_assisted", userUrls: [sites.walled, `${sites.walled}menu`] };
    await fill(page, "lucia", order);
    await start(page);
    assert.equal(await end(page), "blocked");
    assert.match(await page.locator(".blocked-tile").innerText(), /You named the pages yourself/);
    await walk.look(page, "run-blocked-assisted");
    await page.click("#manual-import");
    assert.equal(await page.inputValue("#source"), sites.walled);
  });

  await walk.step("user-assisted: three pages are named, and the one that robots.txt forbids is refused with its line", person, async () => {
    const named = ["menu", "reservations", "news"].map((path) => sites.lucia + path);
    await fill(page, "named", { mode: "user_assisted", userUrls: named });
    await page.click("#show-plan");
    await page.locator("#plan-figures").waitFor();
    assert.match(await page.locator("#main").innerText(), /User-assisted mode\.\s+Nothing was asked of the site/);
    await walk.look(page, "plan-assisted");
    await start(page);
    assert.equal(await end(page), "partial");
    const rows = await evidence(page);
    assert.equal(rows.length, 3);
    const refused = rows.find((row) => row.address.includes("/reservations"));
    assert.equal(refused.decision, "refused, not used");
    assert.equal(refused.robots, "line 3: Disallow: /reservations");
    assert.match(refused.reasons, /robots\.txt/);
    assert.ok(rows.filter((row) => row !== refused).every((row) => row.status === "200"));
    assert.match(await page.locator("#advice").innerText(), /1 page: .*robots\.txt/);
    assert.equal(await page.locator("#use-assisted").count(), 0, "what is forbidden is forbidden in every mode");
    await walk.look(page, "run-partial");
  });

  await walk.step("user-assisted: pages have to be named, and fifty at most", person, async () => {
    watch.expect(422);
    await fill(page, "named", { url: sites.lucia, mode: "user_assisted" });
    await page.click("#start");
    assert.match(await page.locator("#form-error").innerText(), /Name at least one page/);
    const many = Array.from({ length: 51 }, (_, number) => `${sites.lucia}p/${number}`);
    await fill(page, "named", { mode: "user_assisted", userUrls: many });
    await page.click("#start");
    assert.match(await page.locator("#form-error").innerText(), /These are 51 addresses, and 50 are the most\./);
    assert.equal((await page.inputValue("#userUrls")).split("\n").length, 51, "what was typed is kept");
  });

  await walk.step("a site that refuses pages raises its risk", person, async () => {
    await fill(page, "lucia", { url: sites.busy, mode: "light" });
    await start(page);
    assert.equal(await end(page), "partial");
    assert.match(await page.locator("#friction").innerText(), /403:busy\.test/);
    assert.ok(parseInt((await figures(page))["Risk of the host"], 10) >= 40);
  });

  await walk.step("a site that is down is an error, and the page says what to do", person, async () => {
    await fill(page, "lucia", { url: sites.down, mode: "light" });
    await start(page);
    assert.equal(await end(page), "error");
    assert.match(await page.locator("#advice").innerText(), /Check the address/);
    assert.equal(await page.locator(".blocked-tile").count(), 0);
    await walk.look(page, "run-error");
  });
}
