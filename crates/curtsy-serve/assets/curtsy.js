// Keeps two pages up to date: a run at work, and the checks. Both work without it; then the browser loads them again by itself.

const byId = (id) => document.getElementById(id);

/** An element with these words in it. Words are text, whatever is in them. */
function element(name, ...content) {
  const made = document.createElement(name);
  made.append(...content);
  return made;
}

/** A span as the server says it. */
function span(ms) {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60_000) return `${Math.round(ms / 100) / 10} s`;
  const seconds = Math.floor(ms / 1000) % 60;
  return `${Math.floor(ms / 60_000)} min${seconds ? ` ${seconds} s` : ""}`;
}

const pages = (count) => `${count} page${count === 1 ? "" : "s"}`;

// What is read out is changed no more often than this, so that it can be listened to.
const SAID_EVERY_MS = 5000;

/** Follows a run. */
function follow(live) {
  const [phase, status, bar] = ["live-phase", "live-status", "live-progress"].map(byId);
  let said = { at: Date.now(), phase: "" };
  let pagesShown = byId("live-pages").children.length;
  let notesShown = byId("live-notes").children.length;

  const waitLine = ({ host, why }) => element("li", element("strong", host), `: ${why}`);

  // Addresses are text here: they become links when the run is done, where the server decides which may be one.
  const pageRow = ({ url, kind, decision, status }) => {
    const address = element("bdi", url);
    address.className = "address";
    const head = element("th", address);
    head.scope = "row";
    const cells = [kind, decision.replaceAll("_", " "), status ?? "none"];
    return element("tr", head, ...cells.map((cell) => element("td", String(cell))));
  };

  const show = (now) => {
    const doing = phase.dataset[now.phase] ?? "At work";
    const count =
      now.pagesPlanned === null
        ? `${pages(now.pagesDone)} so far`
        : `${now.pagesDone} of ${pages(now.pagesPlanned)}`;
    phase.textContent = doing;
    byId("live-count").textContent = count;
    byId("live-requests").textContent = now.requests;
    byId("live-elapsed").textContent = span(now.elapsedMs);
    if (now.pagesPlanned !== null) {
      bar.max = now.pagesPlanned;
      bar.value = now.pagesDone;
    }
    byId("live-waits").replaceChildren(...now.waiting.map(waitLine));
    byId("live-no-waits").hidden = now.waiting.length > 0;
    byId("live-pages").append(...now.pages.slice(pagesShown).map(pageRow));
    pagesShown = now.pages.length;
    byId("live-notes").append(...now.notes.slice(notesShown).map((note) => element("li", note)));
    notesShown = now.notes.length;
    byId("live-notes-part").hidden = notesShown === 0;
    if (now.phase !== said.phase || Date.now() - said.at > SAID_EVERY_MS) {
      said = { at: Date.now(), phase: now.phase };
      // The reason is enough to listen to; until when is on the page.
      const waits = now.waiting.map(({ host, why }) => ` Waiting for ${host}: ${why.split(";")[0]}.`);
      status.textContent = `${doing}. ${count}.${waits.join("")}`;
    }
  };

  const events = new EventSource(live.dataset.events);
  events.addEventListener("progress", (event) => show(JSON.parse(event.data)));
  events.addEventListener("done", () => {
    events.close();
    location.reload();
  });
}

// How often the checks are looked at, while they run and else.
const LOOK_SOON_MS = 2000;
const LOOK_LATER_MS = 15_000;

/** Watches the checks: when something has changed, the page is fetched and its part is put in place of the old one. */
function watch(health) {
  let known = null;
  let running = health.dataset.running === "true";

  const take = async () => {
    const answer = await fetch(health.dataset.page);
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const open of document.querySelectorAll("#checks details[open]")) {
      page.getElementById(open.id)?.setAttribute("open", "");
    }
    const focused = document.activeElement?.closest("#checks details")?.id;
    // The sentence stays the same element, so that its change is read out, and whoever stood at a check stands there again.
    byId("health-said").textContent = page.getElementById("health-said").textContent;
    byId("checks").replaceChildren(...page.getElementById("checks").children);
    if (focused) byId(focused)?.querySelector("summary").focus();
  };

  const look = async () => {
    try {
      const answer = await fetch(health.dataset.poll);
      const found = await answer.json();
      const state = JSON.stringify([found.running, found.checks.map((check) => check.checkedAt)]);
      running = found.running;
      if (state !== known) {
        // The first look tells nothing new, unless the page was made before checks began or ended.
        if (known !== null || String(running) !== health.dataset.running) await take();
        known = state;
      }
    } catch {
      // The service is away; the next look may find it.
    }
    setTimeout(look, running ? LOOK_SOON_MS : LOOK_LATER_MS);
  };
  setTimeout(look, LOOK_SOON_MS);
}

const live = byId("live");
if (live) follow(live);
const health = byId("health");
if (health) watch(health);
