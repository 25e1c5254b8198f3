import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { type Tool } from './installed-tool';

/** A real browser, for tests that need one. */

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const PATH = process.env.CHROMIUM ?? PLACES.find((path) => existsSync(path)) ?? 'chromium';

export const CHROMIUM: Tool = { command: PATH, name: 'Chromium' };

export function openChromium(): Promise<Browser> {
  // Chromium has no sandbox for root, as tests in a container run.
  return chromium.launch({ executablePath: PATH, args: ['--no-sandbox', '--disable-gpu'] });
}
