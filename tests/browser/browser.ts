import path from 'node:path';
import type { TestContext } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { isExecutable } from '../../scripts/testbed/is-executable.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Returns a browser on the PATH, if there is one. */
function findChromium(): string | undefined {
  const directories = (process.env.PATH ?? '').split(path.delimiter);
  return directories.flatMap((directory) => NAMES.map((name) => path.join(directory, name))).find(isExecutable);
}

/** Why tests in a browser are skipped, if they are. */
export const skipWithoutChromium = findChromium() ? false : 'it needs Chromium on the PATH: install chromium';

/** Ends waits that hang; generous because the machine may be busy. */
const TIMEOUT_MS = 120_000;

let browser: Promise<Browser> | undefined;

/** A page in a real Chromium, which fails the test that makes it log an error. */
export async function openPage(t: TestContext, address: string, options: BrowserContextOptions = {}): Promise<Page> {
  const executablePath = findChromium();
  if (!executablePath) throw new Error('there is no Chromium on the PATH');
  // Without its own sandbox where it runs as root, who may not have one.
  browser ??= chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0, timeout: TIMEOUT_MS });
  const context = await (await browser).newContext({ viewport: { width: 1280, height: 800 }, ...options });
  t.after(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  // The browser logs each response with an error status and each one that is interrupted when the program exits.
  const isNews = (text: string) => !text.startsWith('Failed to load resource');
  page.on('console', (message) => message.type() === 'error' && isNews(message.text()) && errors.push(message.text()));
  t.after(() => {
    if (errors.length > 0) throw new Error(`the page says: ${errors.join('; ')}`);
  });
  await page.goto(address);
  return page;
}

/** Ends the browser; to be called after the last test of a file. */
export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
  browser = undefined;
}
