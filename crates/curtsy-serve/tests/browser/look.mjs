// Looks at a page as it stands, in every way a person might: wide and narrow, light and dark. Each look is a picture and a round of axe-core;
// on the narrowest screen nothing may hang over its edge.

import { join } from "node:path";

const WIDTHS = [1280, 360];
const SCHEMES = ["light", "dark"];
const NARROWEST = 320;
const HEIGHT = 800;
// What axe-core calls these, nobody should have to live with.
const BAD = ["serious", "critical"];
const COLOURS = ["color-contrast", "link-in-text-block"];

export class Looker {
  /** Names of what was looked at. */
  names = [];
  /** Violations that are not bad, one of each rule. */
  others = new Map();

  constructor(axe, folder) {
    this.axe = axe;
    this.folder = folder;
  }

  /** Looks at a page in every way. What is wrong is thrown at the end, so that all pictures are there. */
  async look(page, name) {
    this.names.push(name);
    const wrong = [];
    await page.evaluate(this.axe);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: HEIGHT });
      for (const scheme of SCHEMES) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.screenshot({ path: this.#path(`${name}-${width}-${scheme}`), fullPage: true });
        // What is not about colours is the same in the dark.
        const rules = scheme === "dark" ? COLOURS : undefined;
        wrong.push(...(await this.#check(page, `${name} at ${width} px, ${scheme}`, rules)));
      }
    }
    await page.emulateMedia({ colorScheme: "light" });
    await this.narrow(page, name).catch((error) => wrong.push(error.message));
    if (wrong.length) throw new Error(wrong.join("\n"));
  }

  /** The narrowest screen. */
  async narrow(page, name) {
    await page.setViewportSize({ width: NARROWEST, height: HEIGHT });
    const wrong = await hangsOver(page);
    await page.setViewportSize({ width: WIDTHS[0], height: HEIGHT });
    if (wrong.length) throw new Error(`${name} at ${NARROWEST} px: ${wrong}`);
  }

  /** A picture of one moment. */
  async picture(page, name) {
    await page.screenshot({ path: this.#path(name) });
  }

  #path(name) {
    return join(this.folder, `${name}.png`);
  }

  async #check(page, where, runOnly) {
    const violations = await page.evaluate(async (runOnly) => {
      const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"], runOnly });
      return violations.map(({ id, impact, help, nodes }) => {
        const told = nodes.map(({ target, failureSummary }) => `${target.join(" ")}: ${failureSummary}`);
        return { id, impact, help, nodes: told };
      });
    }, runOnly);
    const bad = [];
    for (const { id, impact, help, nodes } of violations) {
      const said = `${where}: ${impact} ${id} (${help})\n${nodes.map((node) => `    ${node}`).join("\n")}`;
      if (BAD.includes(impact)) bad.push(said);
      else this.others.set(id, said);
    }
    return bad;
  }
}

/** What makes a page wider than the screen. Regions that scroll by themselves may hold wide things. */
function hangsOver(page) {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const wide = [...document.body.querySelectorAll("*")].filter((element) => {
      const scrolls = element.parentElement?.closest(".scroll, pre, textarea");
      return !scrolls && element.getBoundingClientRect().right > width + 1;
    });
    const told = wide.slice(-3).map((element) => element.outerHTML.slice(0, 120));
    return [`the page is ${document.documentElement.scrollWidth} px wide: ${told.join(" | ")}`];
  });
}
