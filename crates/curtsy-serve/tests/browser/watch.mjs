// Stands beside every page that is opened and writes down what should not happen: errors, failed requests, dialogs, requests to anywhere
// else, answers without the content security policy.

const POLICY = ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"];

// A browser that leaves a page breaks off whatever still comes for it: the stream of a run, a look at the checks, script and icon of a page that
// was left at once. What a server does wrong has other names.
const LEFT = "net::ERR_ABORTED";

export class Watch {
  #found = [];
  #expected = new Set();
  #origin;
  /** How many documents were looked at. */
  documents = 0;

  constructor(context, origin) {
    this.#origin = origin;
    context.on("console", (message) => this.#console(message));
    context.on("weberror", (error) => this.#note(`script: ${error.error()}`));
    context.on("dialog", (dialog) => {
      this.#note(`dialog: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    });
    context.on("request", (request) => {
      if (!request.url().startsWith(`${origin}/`)) this.#note(`request to ${request.url()}`);
    });
    context.on("requestfailed", (request) => {
      const why = request.failure()?.errorText;
      if (why !== LEFT) this.#note(`request failed: ${request.method()} ${request.url()}: ${why}`);
    });
    context.on("response", (response) => this.#response(response));
  }

  /** The next documents may have this status; errors that the browser writes about it are no surprise. */
  expect(...statuses) {
    statuses.forEach((status) => this.#expected.add(status));
  }

  /** What was found since the last time. */
  take() {
    this.#expected.clear();
    return this.#found.splice(0);
  }

  #note(what) {
    if (!this.#found.includes(what)) this.#found.push(what);
  }

  #console(message) {
    if (message.type() !== "error" && !/Content Security Policy|Refused to/.test(message.text())) return;
    const status = /responded with a status of (\d+)/.exec(message.text())?.[1];
    if (status && this.#expected.has(Number(status))) return;
    this.#note(`console: ${message.text()} (${message.location().url})`);
  }

  #response(response) {
    const headers = response.headers();
    const what = `${response.status()} ${response.url()}`;
    const policy = headers["content-security-policy"] ?? "";
    if (response.url().startsWith(this.#origin)) {
      for (const part of POLICY) if (!policy.includes(part)) this.#note(`no ${part}: ${what}`);
    }
    if (response.request().resourceType() === "document") this.documents += 1;
    if (response.status() >= 400 && !this.#expected.has(response.status())) this.#note(`answer: ${what}`);
  }
}
