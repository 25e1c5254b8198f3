import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { source as axe } from 'axe-core';
import { type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { ROOT } from '../../shared/service/repo-root';

/** A real Chromium for tests of the console, which listens to what pages complain of. */

const SHOTS = join(ROOT, 'docs', 'guide', 'console');
/** `SCREENSHOTS=1`: the pictures of docs/guide/console are taken anew. */
const SHOOT = process.env.SCREENSHOTS !== undefined;

const SETTLED = `Promise.all(document.getAnimations()
  .filter(({ effect }) => effect.getTiming().iterations !== Infinity)
  .map(({ finished }) => finished.catch(() => undefined))).then(() => undefined)`;

export interface Tab {
  page: Page;
  /** what the page's console called an error, and what its scripts threw */
  complaints: string[];
  /** Evaluates an expression in the page, past its policy, which forbids to evaluate texts. */
  evaluate(expression: string): Promise<unknown>;
  /** Serious violations of accessibility, one a line. @param rule of axe's rules this one alone */
  barriers(rule?: string): Promise<string[]>;
  /** Takes a picture for the documentation, if asked for. */
  shoot(name: string): Promise<void>;
  close(): Promise<void>;
}

export async function openTab(browser: Browser, options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext({
    viewport: { width: 1200, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  const devtools = await context.newCDPSession(page);
  const evaluate = async (expression: string): Promise<unknown> => {
    const asked = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await devtools.send('Runtime.evaluate', asked);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value as unknown;
  };
  return {
    page,
    complaints,
    evaluate,
    barriers: async (rule) => {
      await evaluate(`${axe}; undefined`);
      // Colours on their way from one to the other are none that anybody reads.
      await evaluate(SETTLED);
      const only = rule === undefined ? '' : `, runOnly: ['${rule}']`;
      const run = `axe.run(document, { preload: false, resultTypes: ['violations']${only} }).then(({ violations }) => violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' ' + target.join(' ') + ' ' + failureSummary)))`;
      return (await evaluate(run)) as string[];
    },
    shoot: async (name) => {
      if (!SHOOT) return;
      mkdirSync(SHOTS, { recursive: true });
      await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
    },
    close: () => context.close(),
  };
}
