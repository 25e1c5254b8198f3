import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { type Tool } from './installed-tool';

/** Real browsers, for tests that need one. */

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const PATH = process.env.CHROMIUM ?? firstOf(BROWSERS) ?? 'chromium';

/** The browser that people have. */
export const CHROMIUM: Tool = { command: PATH, name: 'Chromium' };

/**
 * Chromium without the window around its pages, which takes more than half of its CPU; where it is
 * missing, the browser that people have. A page that is closed in it loses its last requests, so
 * that tests of clients need `CHROMIUM`.
 */
export const CHROMIUM_SHELL: Tool = {
  command: process.env.CHROMIUM ?? firstOf(['/usr/bin/chromium-headless-shell']) ?? PATH,
  name: 'Chromium',
};

function firstOf(paths: readonly string[]): string | undefined {
  return paths.find((path) => existsSync(path));
}

export function openBrowser({ command }: Tool): Promise<Browser> {
  // Chromium has no sandbox for root, as tests in a container run.
  return chromium.launch({ executablePath: command, args: ['--no-sandbox', '--disable-gpu'] });
}
