// The automated modes: light with its plan and its progress, standard, and everything from the cache the second time.

import assert from "node:assert/strict";

import { end, evidence, figures, fill, start } from "./run.mjs";

const KINDS = ["about", "services", "pricing", "contact", "menu", "products", "faq"];

export default async function modes(walk, person) {
  const { sites } = walk;
  const { page, watch } = person;

  let planned = [];

  await walk.step("each mode says what it does and what it costs", person, async () => {
    await page.goto("/orbit/lucia/import");
    for (const [mode, pages] of [["light", 12], ["standard", 25], ["user_assisted", 50]]) {
      const what = await page.locator(`#mode-${mode}-what`).innerText();
      assert.match(what, new RegExp(`At most ${pages} pages`));
      assert.match(what, /250 ms between two requests/);
      assert.match(what, /Best for /);
      assert.match(what, new RegExp(`for ${pages} pages at that delay`));
    }
    await walk.look(page, "import");
  });

  await walk.step("what is wrong with an order is said beside the form, and what was typed is kept", person, async () => {
    watch.expect(422);
    await fill(page, "lucia", { url: "ftp://lucia.test/", mode: "light" });
    await page.click("#start");
    await page.locator("#form-error").waitFor();
    assert.equal(await page.inputValue("#url"), "ftp://lucia.test/");
    assert.equal(await page.locator("#url").getAttribute("aria-invalid"), "true");
    assert.ok(await page.isChecked("#mode-light"));
    await walk.look(page, "import-error");
  });

  await walk.step("light: the plan says what will be asked for", person, async () => {
    await fill(page, "lucia", { url: sites.lucia, mode: "light" });
    await page.click("#show-plan");
    await page.locator("#plan-figures").waitFor();
    const said = await page.locator("#main").innerText();
    assert.match(said, /Light mode for http:\/\/lucia\.test/);
    assert.match(said, /requests went to the site to make this plan/);
    assert.match(await page.locator("#plan-figures").innerText(), /Pages to fetch\s+12/);
    assert.match(await page.locator("#plan-figures").innerText(), /Delay between requests\s+250 ms, set by the mode/);
    assert.match(said, /found through: sitemap/);
    assert.match(await page.locator("#forbidden").innerText(), /\/reservations/);
    planned = await page.locator("#main ul.plain a").allInnerTexts();
    await walk.look(page, "plan");
  });

  await walk.step("light: the plan becomes a run, and its page shows the end by itself", person, async () => {
    await start(page);
    assert.equal(await end(page), "success");
  });

  await walk.step("light: the summary has the figures, also those of the cache", person, async () => {
    const summary = await figures(page);
    assert.deepEqual([summary["Outcome"], summary["Mode"]], ["Success", "Light"]);
    assert.equal(summary["Pages used"], summary["Pages planned"]);
    // The plan had fetched the home page.
    assert.equal(summary["Cache hits"], "1");
    assert.equal(Number(summary["Cache misses"]), Number(summary["Pages used"]) - 1);
    assert.equal(summary["Risk of the host"], "0 of 100, low");
    await walk.look(page, "run-done");
  });

  await walk.step("light: the run asked for what the plan had named, and for nothing else", person, async () => {
    const rows = await evidence(page);
    const asked = rows.map((row) => row.address);
    assert.deepEqual(asked.toSorted(), planned.toSorted());
    assert.match((await figures(page))["Found through"], /sitemap/);
  });

  await walk.step("light: tiles of every kind, with source, confidence and evidence", person, async () => {
    for (const kind of KINDS) assert.equal(await page.locator(`#tiles-${kind}`).count(), 1, kind);
    const menu = page.locator("#tiles-menu");
    const dish = menu.locator(".tile").filter({ hasText: "Trofie al pesto" }).first();
    assert.match(await dish.innerText(), /13\.50? GBP/);
    assert.match(await dish.innerText(), /Confidence \d+ %/);
    assert.match(await dish.locator("a").first().getAttribute("href"), /^http:\/\/lucia\.test:\d+\/menu/);
    assert.equal(await dish.locator("a").first().getAttribute("rel"), "nofollow noopener noreferrer");
    await dish.locator("summary").click();
    assert.match(await dish.locator("details li").first().innerText(), /Read from .* on http:\/\/lucia\.test/);
    assert.match(await page.locator("#tiles-contact").innerText(), /\+441174960123/);
    assert.match(await page.locator("#hours").innerText(), /Tuesday\s+12:00\s+14:30/);
  });

  await walk.step("light: the evidence of each page has its robots line and its reasons", person, async () => {
    const rows = await evidence(page);
    const about = rows.find((row) => /\/about\b/.test(row.address));
    assert.equal(about.robots, "line 4: Allow: /");
    assert.match(about.delay, /^250 ms, set by the mode$/);
    const details = page.locator("#pages-table tr").filter({ hasText: "/about" }).locator("details");
    await details.locator("summary").click();
    assert.match(await details.innerText(), /robots \(go\): /);
    assert.match(await details.innerText(), /pace \(go\): /);
  });

  await walk.step("standard: the same, without a look at the plan", person, async () => {
    await fill(page, "lucia", { url: sites.plumb, mode: "standard" });
    await start(page);
    assert.equal(await end(page), "success");
    const summary = await figures(page);
    // Others walk beside us, and may have asked for some of these pages before.
    assert.equal(summary["Mode"], "Standard");
    assert.equal(Number(summary["Pages used"]), Number(summary["Cache misses"]) + Number(summary["Cache hits"]));
    assert.match(await page.locator("#tiles-services").innerText(), /\w/);
    assert.ok((await evidence(page)).every((row) => ["fetched", "cached"].includes(row.decision)));
  });

  await walk.step("standard again: everything comes from the cache, and the page says so", person, async () => {
    await fill(page, "lucia", { url: sites.plumb, mode: "standard" });
    await start(page);
    assert.equal(await end(page), "success");
    const summary = await figures(page);
    assert.equal(summary["Cache misses"], "0");
    assert.equal(summary["Cache hits"], summary["Pages used"]);
    const rows = await evidence(page);
    assert.ok(rows.length > 3 && rows.every((row) => row.decision === "cached"), JSON.stringify(rows.map((row) => row.decision)));
    assert.ok(rows.every((row) => row.changed === "same"), JSON.stringify(rows.map((row) => row.changed)));
    assert.match(await page.locator("#tiles-services").innerText(), /\w/, "tiles are made of cached pages too");
    await walk.looker.picture(page, "run-cached");
  });
}
