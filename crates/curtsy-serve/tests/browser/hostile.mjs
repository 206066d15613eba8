// A hostile site: whatever its pages say is text on ours.
//
// It is read twice: by a browser that is told to ignore the content security policy, and by one as they are. The policy alone would keep most
// payloads from running; the first browser would run them.

import assert from "node:assert/strict";

import { end, fill, start } from "./run.mjs";

// What our pages are made of. An element or attribute that is not here came from a payload.
const ELEMENTS = `html head meta title link script body noscript a header div nav ul li form input button main p h1 h2 h3 h4 section article
  span strong code pre ol dl dt dd table caption thead tbody tr th td details summary q bdi br label textarea fieldset legend time progress
  footer svg desc rect text line polyline circle path`.split(/\s+/);
const ATTRIBUTES = `action aria-current aria-describedby aria-hidden aria-invalid aria-label aria-labelledby autocapitalize autocomplete charset
  checked class content cx cy d data-events data-discovering data-done data-fetching data-level data-outcome data-page data-poll
  data-reading data-running data-state datetime dir disabled dx dy enctype for formaction height hidden href http-equiv id inputmode
  lang max method name open points r rel required role rows scope spellcheck src tabindex type value viewbox width x x1 x2 y y1 y2
  accept`.split(/\s+/);

// A named page is held back; so many come before it, wherever its redirects lead.
const BEFORE_HELD = 30;

/** What stands in a page that we did not put there, and which marks can be read in it. */
const inspect = (page) =>
  page.evaluate(
    ({ elements, attributes }) => {
      const strange = [];
      const outside = [];
      for (const element of document.querySelectorAll("*")) {
        const name = element.localName;
        if (!elements.includes(name)) strange.push(`<${name}>`);
        for (const { name: attribute, value } of element.attributes) {
          if (!attributes.includes(attribute.toLowerCase())) strange.push(`${name} ${attribute}=${value}`);
          if (["href", "src", "action", "formaction"].includes(attribute)) {
            const url = new URL(value, document.baseURI);
            if (!/^https?:$/.test(url.protocol)) strange.push(`${name} ${attribute}=${value}`);
            else if (url.origin !== location.origin) outside.push([name, attribute, element.rel, value]);
          }
        }
      }
      const scripts = [...document.scripts].map((script) => script.getAttribute("src"));
      const charts = [...document.querySelectorAll("svg")].map((svg) => svg.id);
      const values = [...document.querySelectorAll("input, textarea")].map((field) => field.value);
      return {
        strange,
        outside,
        scripts,
        charts,
        ran: globalThis.__ran ?? [],
        text: [document.documentElement.textContent, ...values].join("\n"),
      };
    },
    { elements: ELEMENTS, attributes: ATTRIBUTES },
  );

export default async function hostile(walk) {
  const { hostile: told, other } = walk;
  const read = { marks: new Set(), whole: new Set(), places: new Set(), live: new Set(), pages: 0 };
  const planted = told.planted.map((each) => ({ ...each, shown: shown(each.text) }));

  /** Looks for whatever a payload might have done, and for payloads that can be read. */
  const check = async (page, name) => {
    const found = await inspect(page);
    const where = `${name} (${page.url()})`;
    assert.deepEqual(found.ran, [], `${where}: a payload ran`);
    assert.deepEqual(found.strange, [], `${where}: markup that is not ours`);
    assert.deepEqual(found.scripts, ["/assets/curtsy.js"], where);
    assert.ok(found.charts.every((id) => ["risk-chart", "timeline-chart"].includes(id)), where);
    for (const [element, attribute, rel, value] of found.outside) {
      const said = `${where}: ${element} ${attribute}=${value}`;
      assert.deepEqual([element, attribute, rel], ["a", "href", "nofollow noopener noreferrer"], said);
    }
    read.pages += 1;
    const text = shown(found.text);
    for (const { mark, place, shown } of planted) {
      if (!text.includes(mark)) continue;
      read.marks.add(mark);
      if (name === "live") read.live.add(mark);
      read.places.add(place);
      if (text.includes(shown)) read.whole.add(mark);
    }
  };

  for (const bypassCSP of [true, false]) {
    const how = bypassCSP ? "without the policy" : "as browsers are";
    const runs = [];
    const person = await walk.signedIn(other.origin, { bypassCSP });
    const { page, watch, context } = person;
    await context.addInitScript(() => {
      globalThis.__ran = [];
      globalThis.__xss = (mark) => globalThis.__ran.push(mark);
    });

    await walk.step(`hostile site, ${how}: two runs, watched`, person, async () => {
      const slug = bypassCSP ? "hostile" : "hostile-again";
      // The pages of the first browser are fresh for the second, and its progress is over at once.
      await fill(page, slug, { url: told.site, mode: "standard" });
      await page.click("#show-plan");
      await page.locator("#plan-figures").waitFor();
      await check(page, "plan");
      await start(page);
      await end(page);
      runs.push(page.url());
      await check(page, "found pages");
      await fill(page, slug, { mode: "user_assisted", userUrls: told.named });
      await page.click("#show-plan");
      await page.locator("#plan-figures").waitFor();
      await check(page, "plan of named pages");
      await page.click("#change");
      await check(page, "form again");
      await fill(page, slug, { mode: "user_assisted", userUrls: told.named });
      await start(page);
      if (bypassCSP) {
        // A page is held back; those before it are shown.
        await page.locator("#live-pages tr").nth(BEFORE_HELD - 1).waitFor();
        await check(page, "live");
        walk.open("hostile");
      }
      await end(page);
      runs.push(page.url());
      await page.locator("details").evaluateAll((all) => all.forEach((each) => (each.open = true)));
      await check(page, "named pages");
    });

    await walk.step(`hostile site, ${how}: every page that shows what it says`, person, async () => {
      const places = ["/", "/orbit/hostile/import?tab=history", "/domains/hostile.test", "/admin/orbits/health"];
      for (const run of runs) {
        await page.goto(run);
        await check(page, "run");
        const further = page.locator("#use-assisted, #run-again, #manual-import, #domain");
        places.push(...(await further.evaluateAll((links) => links.map((link) => link.href))));
      }
      await walk.looker.picture(page, "hostile-run");
      await walk.looker.narrow(page, "hostile-run");
      for (const place of new Set(places)) {
        await page.goto(place);
        await check(page, place);
        if (!bypassCSP) await walk.looker.narrow(page, place);
      }
    });

    await walk.step(`hostile words in forms and addresses, ${how}`, person, async () => {
      watch.expect(400, 401, 404, 413, 422);
      const words = planted.filter(({ place }) => place === "title");
      const places = [
        (typed) => `/?slug=${typed}`,
        (typed) => `/orbit/hostile/import?url=${typed}&mode=user_assisted&userUrls=${typed}`,
        (typed) => `/orbit/hostile/import?tab=manual&url=${typed}`,
        (typed) => `/login?next=${typed}&code=${typed}`,
        (typed) => `/domains/${typed}`,
        (typed) => `/orbit/${typed}/import`,
        (typed) => `/orbit/hostile/runs/${typed}`,
        (typed) => `/${typed}`,
      ];
      // A wrong code counts as a wrong token, and there may not be many of them in a minute.
      for (const [number, { text }] of words.slice(0, 3 * places.length).entries()) {
        const place = places[number % places.length](encodeURIComponent(text));
        await page.goto(place);
        await check(page, place);
      }
      for (const { text } of words.slice(0, 4)) {
        await fill(page, "hostile", { url: text, mode: "user_assisted", userUrls: [text] });
        await page.click("#start");
        await page.locator("#form-error").waitFor();
        await check(page, "an order that is wrong");
        await page.goto("/orbit/hostile/import?tab=manual");
        await page.fill("#source", text);
        await page.fill("#text", `${text} ${text}`);
        const file = { name: `${text.replaceAll("/", "")}.exe`, mimeType: "text/html", buffer: Buffer.from(text) };
        await page.setInputFiles("#file", file);
        await page.click("#import");
        await page.locator("#form-error").waitFor();
        await check(page, "an import that is wrong");
      }
      // All payloads in one text, as a page that is brought by hand.
      await page.goto("/orbit/hostile/import?tab=manual");
      await page.fill("#text", `<h1>x</h1>${words.map(({ text }) => `<p>${text}</p>`).join("")}`);
      await page.click("#import");
      await end(page);
      await check(page, "an import");
    });
    await context.close();
  }

  const nobody = { watch: { take: () => [] } };
  await walk.step("hostile site: enough of it was read to mean something", nobody, async () => {
    const { marks, whole, places, live, pages } = read;
    console.log(`       ${planted.length} payloads were planted in ${new Set(planted.map(({ place }) => place)).size} places;`);
    console.log(`       ${marks.size} could be read on our pages, ${whole.size} of them to the letter, from ${places.size} places, in ${pages} looks`);
    console.log(`       ${live.size} of them came over the stream of a run at work`);
    assert.ok(live.size > 0, "no payload was seen while a run was at work");
    assert.ok(whole.size >= 200, `only ${whole.size} payloads reached a page to the letter`);
  });
}

/** Text as it can be compared: spaces and what cannot be seen are no difference. */
function shown(text) {
  return text.replace(/[\s\p{Cc}\p{Cf}\u00ad]+/gu, "");
}
