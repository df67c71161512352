/** A real Chromium, and what every page of it must observe: no other host, and no violation of the policy. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, type Page, type Route, chromium } from "playwright-core";

const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
if (!existsSync(executablePath)) throw new Error(`no Chromium at ${executablePath}; install it, or set CHROMIUM`);

/** Long enough for a busy machine. */
export const DEADLINE = Number(process.env["DEADLINE"] ?? 20_000);

/** A build to test in place of the one that the program embeds, so that the page can change without a new program. */
const build = process.env["PAGE_DIST"];

/** Answers with a file of the build, under the headers of the node. */
async function substitute(route: Route, build: string): Promise<void> {
  const response = await route.fetch();
  const { pathname } = new URL(route.request().url());
  const body = readFileSync(join(build, pathname === "/" ? "index.html" : pathname.replace("/page/", "")));
  const { "content-encoding": _, "content-length": __, ...headers } = response.headers();
  await route.fulfill({ response, headers, body });
}

export class Chromium implements AsyncDisposable {
  readonly #browser: Browser;
  /** What no page may do. */
  readonly offences: string[] = [];

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async start(): Promise<Chromium> {
    const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
    const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"];
    return new Chromium(await chromium.launch({ executablePath, args: [...args, ...quiet] }));
  }

  /** A page of a node, in a profile of its own. */
  async open(http: string, path = "#/", options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.#browser.newContext({ baseURL: `http://${http}/`, ...options });
    const page = await context.newPage();
    if (build) await context.route(/\/(page\/.*)?(#.*)?$/, (route) => substitute(route, build));
    page.setDefaultTimeout(DEADLINE);
    page.on("request", (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol !== "data:" && host !== http) this.offences.push(`request to ${request.url()}`);
    });
    page.on("pageerror", (error) => this.offences.push(`error: ${error.message}`));
    page.on("console", (message) => {
      if (message.text().includes("Content Security Policy")) this.offences.push(message.text());
    });
    await page.goto(`/${path}`);
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}
