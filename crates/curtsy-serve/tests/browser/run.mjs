// What many steps do with a run: start it, wait for its end, read it.

/** Opens the import page and fills in its form. */
export async function fill(page, slug, { url, mode, userUrls }) {
  await page.goto(`/orbit/${slug}/import`);
  if (url) await page.fill("#url", url);
  await page.check(`#mode-${mode}`);
  if (userUrls) await page.fill("#userUrls", userUrls.join("\n"));
}

/** Starts what is filled in, and gives the address of the run. */
export async function start(page) {
  await page.click("#start");
  await page.waitForURL(/\/runs\/[0-9a-f]{32}$/);
  return page.url();
}

/** Waits until a run's page shows what it came to, and gives the outcome. */
export async function end(page) {
  const outcome = page.locator("#outcome");
  await outcome.waitFor();
  return outcome.getAttribute("data-outcome");
}

/** The summary, as names and values. */
export async function figures(page) {
  const pairs = await page.locator("#summary dl.figures div").evaluateAll((rows) =>
    rows.map((row) => [row.querySelector("dt").textContent, row.querySelector("dd").textContent]),
  );
  return Object.fromEntries(pairs);
}

/** The rows of the evidence: the address, and the text of the other cells. */
export async function evidence(page) {
  const names = ["address", "kind", "decision", "status", "changed", "robots", "delay", "reasons"];
  const rows = await page.locator("#pages-table tbody tr").evaluateAll((rows) =>
    rows.map((row) => {
      const [, ...cells] = [...row.children].map((cell) => cell.textContent.trim().replace(/\s+/g, " "));
      return [row.querySelector(".address").textContent, ...cells];
    }),
  );
  return rows.map((cells) => Object.fromEntries(names.map((name, at) => [name, cells[at]])));
}
