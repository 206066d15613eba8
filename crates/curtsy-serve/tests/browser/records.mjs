// The history, and the page of a host.

import assert from "node:assert/strict";

import { end } from "./run.mjs";

export default async function records(walk, person) {
  const { page } = person;

  await walk.step("the history lists all runs, the newest first", person, async () => {
    await page.goto("/orbit/lucia/import?tab=history");
    const rows = await page.locator("#runs tbody tr").allInnerTexts();
    assert.ok(rows.length >= 7, `${rows.length} runs`);
    assert.match(rows[0], /down\.test/);
    assert.match(rows.at(-1), /lucia\.test.*Light\s+Success\s+\d+ of \d+/s);
    for (const outcome of ["Success", "Partial", "Blocked", "Error"]) {
      assert.ok(rows.some((row) => row.includes(outcome)), outcome);
    }
    await walk.look(page, "history");
    await page.locator("#runs tbody a").first().click();
    assert.equal(await end(page), "error");
    await page.goto("/");
    assert.match(await page.locator("#orbits").innerText(), /lucia\s+\d+ runs/);
    await walk.look(page, "home");
  });

  await walk.step("a host's page draws its risk and its requests, with the same figures as tables", person, async () => {
    await page.goto("/domains/busy.test");
    const score = Number(/^(\d+) of 100/.exec(await page.locator("#risk-now").innerText())[1]);
    assert.ok(score >= 40, String(score));
    assert.ok(await page.locator("#risk-chart polyline").isVisible());
    const signals = await page.locator("#risk-chart circle.mark").count();
    assert.ok(signals >= 2, `${signals} signals`);
    // The names of the levels stand beside the curve, not under it.
    const curve = await page.locator("#risk-chart polyline").boundingBox();
    for (const name of await page.locator("#risk-chart text:not(.axis)").all()) {
      assert.ok((await name.boundingBox()).x >= curve.x + curve.width);
    }
    await page.click("#risk-table summary");
    assert.equal(await page.locator("#risk-table tbody tr").count(), signals + 1);
    const marks = await page.locator("#timeline-chart .mark").count();
    await page.click("#timeline-table summary");
    assert.equal(await page.locator("#timeline-table tbody tr").count(), marks + 1);
    assert.match(await page.locator("#timeline-table").innerText(), /250 ms, set by/);
    await walk.look(page, "domain");
    await page.goto(new URL("/domains/lucia.test", page.url()).href);
    assert.match(await page.locator("#risk").innerText(), /No friction was met on this host\./);
    await walk.look(page, "domain-calm");
  });
}
