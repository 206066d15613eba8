// A person's walk through the pages, step by step. `node walk.mjs WALK.JSON` ends with 0, or says which steps failed and why.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { Looker } from "./look.mjs";
import { Watch } from "./watch.mjs";
import byHand from "./by_hand.mjs";
import health from "./health.mjs";
import hostile from "./hostile.mjs";
import keyboard from "./keyboard.mjs";
import live from "./live.mjs";
import modes from "./modes.mjs";
import plain from "./plain.mjs";
import records from "./records.mjs";
import signIn from "./sign_in.mjs";
import wall from "./wall.mjs";

// The whole walk takes about a minute. A machine that is busy with other things may take longer, but not for ever.
const WALK_MS_MAX = 600_000;
const WAIT_MS_MAX = 120_000;

const told = JSON.parse(readFileSync(process.argv[2], "utf8"));
const require = createRequire(join(told.parts, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

setTimeout(() => {
  console.log(`the walk took longer than ${WALK_MS_MAX / 1000} s`);
  process.exit(1);
}, WALK_MS_MAX).unref();

const browser = await chromium.launch({
  executablePath: told.chromium,
  chromiumSandbox: process.getuid() !== 0,
  // Nothing leaves this machine, whatever a page says.
  args: ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
});
const looker = new Looker(axe, told.screenshots);
const failed = [];

/** A browser of its own, watched: `person.page` is its first page. */
async function person(origin, options = {}) {
  const context = await browser.newContext({ baseURL: origin, locale: "en-GB", ...options });
  context.setDefaultTimeout(WAIT_MS_MAX);
  const watch = new Watch(context, origin);
  const page = await context.newPage();
  return { context, watch, page };
}

/** The same, signed in with the token. */
async function signedIn(origin, options) {
  const someone = await person(origin, options);
  await someone.page.goto("/login");
  await someone.page.fill("#token", told.token);
  await someone.page.click("#login");
  await someone.page.locator("#sign-out").waitFor();
  return someone;
}

/** A step of the walk: what goes wrong is told with its name, and the walk goes on. */
async function step(name, { watch, page }, walk) {
  const began = Date.now();
  const wrong = [];
  try {
    await walk();
  } catch (error) {
    wrong.push(error.stack ?? String(error));
  }
  if (page) {
    const picture = `${wrong.length ? "failed" : "step"}-${name.replaceAll(/\W+/g, "-")}`;
    await looker.picture(page, picture).catch(() => {});
    if (wrong.length) wrong.push(`at ${page.url()}, see ${picture}.png`);
  }
  wrong.push(...watch.take());
  console.log(`${wrong.length ? "FAILED" : "ok    "} ${name} (${Date.now() - began} ms)`);
  wrong.forEach((what) => console.log(`  ${what.replaceAll("\n", "\n  ")}`));
  if (wrong.length) failed.push(name);
}

/** Has a site give what it holds back behind a gate. The test that started this walk opens it. */
const open = (gate) => console.log(`open the gate: ${gate}`);

const walk = { ...told, person, open, signedIn, step, look: (page, name) => looker.look(page, name), looker };
const began = Date.now();
// Four go at once, so that one looks while another waits. Whoever comes first finds the service empty.
const first = async () => {
  const reader = await person(told.service.origin);
  await signIn(walk, reader);
  const second = async () => {
    const reader = await signedIn(told.service.origin);
    for (const part of [byHand, health, keyboard]) await part(walk, reader);
  };
  const on = async () => {
    for (const part of [modes, wall, records]) await part(walk, reader);
  };
  await Promise.all([on(), second()]);
};
const fourth = () => live(walk);
const third = async () => {
  for (const part of [plain, hostile]) await part(walk);
};
await Promise.all([first(), third(), fourth()]);
await browser.close();

for (const said of looker.others.values()) console.log(`axe-core, not bad: ${said}`);
console.log(`${looker.names.length} pages and states were looked at in four ways: ${looker.names.join(", ")}`);
console.log(`${failed.length ? `${failed.length} steps failed` : "the walk is done"} (${Date.now() - began} ms)`);
process.exit(failed.length ? 1 : 0);
