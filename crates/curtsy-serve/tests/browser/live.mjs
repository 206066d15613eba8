// A run while it works. What is looked at stands still meanwhile: a site holds its answer back, or has told us to wait for long.

import assert from "node:assert/strict";

import { end, evidence, fill, start } from "./run.mjs";

// In the order in which they are asked for; each is held behind a gate of its own.
const PATHS = ["about", "services", "contact", "pricing", "menu", "shop", "faq", "news", "team", "jobs"];

export default async function live(walk) {
  const { sites } = walk;
  const person = await walk.signedIn(walk.patient.origin);
  const { page } = person;

  await walk.step("light: pages appear one by one, as they come", person, async () => {
    await fill(page, "lucia", { url: sites.oneByOne, mode: "light" });
    await start(page);
    // The script fills the page in: what is seen here came over the stream of events.
    await page.evaluate(() => (window.stayed = true));
    const count = page.locator("#live-count");
    const rows = page.locator("#live-pages tr");
    for (const [number, path] of PATHS.entries()) {
      // The home page has come; this one is held back.
      await count.filter({ hasText: `${number + 1} of 11 pages` }).waitFor();
      assert.equal(await rows.count(), number + 1);
      assert.match(await page.locator("#live-phase").innerText(), /Fetching pages/);
      // Its answer is waited for, not its turn.
      await page.locator("#live-no-waits").waitFor();
      if (number === 3) await walk.looker.picture(page, "run-live-light");
      walk.open(`/${path}`);
      if (number < PATHS.length - 1) {
        await rows.nth(number + 1).filter({ hasText: `/${path}` }).waitFor();
        assert.ok(await page.evaluate(() => window.stayed), "the page was not loaded again");
      }
    }
    assert.equal(await end(page), "success");
  });

  await walk.step("a run at work can be looked at in every way, and says whom it waits for and why", person, async () => {
    await fill(page, "lucia", { url: sites.long, mode: "light" });
    await start(page);
    const wait = page.locator("#live-waits li").filter({ hasText: /^long\.test: told to wait 30 min after 1 refusal in a row/ });
    await wait.first().waitFor();
    assert.match(await page.locator("#live-count").innerText(), /^3 of 11 pages$/);
    await page.locator("#live-status").filter({ hasText: /Fetching pages\. 3 of 11 pages\. Waiting for long\.test: told to wait/ }).waitFor({ state: "attached" });
    await walk.look(page, "run-live");
  });

  await walk.step("a run is cancelled in the middle, and what it has is kept", person, async () => {
    await page.click("#cancel");
    assert.equal(await end(page), "partial");
    assert.equal(await page.locator("h1").innerText(), "The run was cancelled");
    assert.match(await page.locator("#cancelled").innerText(), /This run was cancelled \d+ \w+ \d{4}/);
    const rows = await evidence(page);
    assert.ok(rows.some((row) => row.decision === "fetched"), JSON.stringify(rows));
    assert.match(await page.locator("#advice").innerText(), /What happened/);
    await walk.look(page, "run-cancelled");
  });
  await person.context.close();
}
