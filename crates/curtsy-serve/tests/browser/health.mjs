// The contract's nine checks.

import assert from "node:assert/strict";

const CHECKS = 9;

/** How many checks stand so. */
export const count = (page, state) => page.locator(`#checks > li[data-state="${state}"]`).count();

export default async function health(walk, person) {
  const { page } = person;

  await walk.step("health: checks that were never carried out say so", person, async () => {
    await page.goto("/admin/orbits/health");
    assert.equal(await count(page, "never"), CHECKS);
    await walk.look(page, "health-never");
  });

  await walk.step("health: all nine turn green while one watches", person, async () => {
    await page.click("#check-now");
    await page.locator("#health-said").filter({ hasText: "The checks are being carried out" }).waitFor();
    await page.evaluate(() => (window.stayed = true));
    await walk.look(page, "health-running");
    await page.locator("#health-said").filter({ hasText: "All 9 checks passed." }).waitFor();
    assert.equal(await count(page, "green"), CHECKS, await page.locator("#checks").innerText());
    assert.ok(await page.evaluate(() => window.stayed), "the page was not loaded again");
  });

  await walk.step("health: each check has its evidence", person, async () => {
    for (const check of await page.locator("#checks > li").all()) {
      assert.match(await check.innerText(), /Passed/);
      assert.match(await check.innerText(), /Checked \d/);
    }
    const first = page.locator("#INGEST_003");
    await first.locator("summary").click();
    assert.match(await first.locator("pre").innerText(), /private/);
    await walk.look(page, "health");
  });
}
