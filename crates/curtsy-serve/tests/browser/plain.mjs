// The same without JavaScript: forms, and pages that are loaded again by themselves.

import assert from "node:assert/strict";

import { bring, ways } from "./by_hand.mjs";
import { count } from "./health.mjs";
import { end, evidence, figures, fill, start } from "./run.mjs";

export default async function plain(walk) {
  const { other, sites, token } = walk;
  const person = await walk.person(other.origin, { javaScriptEnabled: false });
  const { page } = person;

  await walk.step("without JavaScript: signing in, the plan, a run to its end", person, async () => {
    await page.goto("/login?next=/orbit/plain/import");
    await page.fill("#token", token);
    await page.click("#login");
    await page.waitForURL("**/orbit/plain/import");
    await fill(page, "plain", { url: sites.lucia, mode: "light" });
    await page.click("#show-plan");
    await page.locator("#plan-figures").waitFor();
    await start(page);
    // The browser looks again by itself.
    assert.equal(await end(page), "success");
    const used = Number((await figures(page))["Pages used"]);
    const rows = await evidence(page);
    assert.equal(rows.filter((row) => row.decision === "fetched" || row.decision === "cached").length, used);
    assert.ok(used >= 10, `${used} pages`);
    assert.match(await page.locator("#tiles-menu").innerText(), /Trofie al pesto/);
  });

  for (const way of ways) {
    await walk.step(`without JavaScript: ${way.name} becomes tiles`, person, () => bring(page, "plain", way));
  }

  await walk.step("without JavaScript: the checks are carried out and turn green", person, async () => {
    await page.goto("/admin/orbits/health");
    await page.click("#check-now");
    assert.match(await page.locator("#health-said").innerText(), /The checks are being carried out/);
    await page.locator("#INGEST_001 time").waitFor();
    assert.equal(await count(page, "green"), 9, await page.locator("#checks").innerText());
  });
  await person.context.close();

  const waiter = await walk.signedIn(walk.patient.origin, { javaScriptEnabled: false });
  await walk.step("without JavaScript: a run at work shows how it stands, and can be cancelled", waiter, async () => {
    const { page } = waiter;
    await fill(page, "plain", { url: sites.longToo, mode: "standard" });
    await start(page);
    assert.equal(await page.locator("#live script").count(), 0);
    // The browser looks again by itself until it stands there.
    await page.locator("#live-waits li").filter({ hasText: /^long-too\.test: told to wait 30 min/ }).first().waitFor();
    assert.match(await page.locator("#live-count").innerText(), / of 11 pages$/);
    await walk.looker.picture(page, "plain-run-live");
    await page.click("#cancel");
    assert.equal(await end(page), "partial");
  });
  await waiter.context.close();
}
