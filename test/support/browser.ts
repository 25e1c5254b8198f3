import { source as axe } from 'axe-core';
import { type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

/** A real Chromium for tests of the console. It records the errors that pages report. */

/** A change of style begins its transitions with the next frame. */
const SETTLED = `new Promise((resolve) =>
    requestAnimationFrame(() => requestAnimationFrame(resolve)))
  .then(() => Promise.all(document.getAnimations()
    .filter(({ effect }) => effect.getTiming().iterations !== Infinity)
    .map(({ finished }) => finished.catch(() => undefined)))).then(() => undefined)`;

export interface Tab {
  page: Page;
  /** errors of the page's console and exceptions of its scripts */
  complaints: string[];
  /**
   * Evaluates an expression in the page. Its content security policy, which forbids `eval`, does
   * not apply.
   */
  evaluate(expression: string): Promise<unknown>;
  /**
   * Returns accessibility violations, one a line.
   * @param rule limits the check to one rule of axe
   */
  barriers(rule?: string): Promise<string[]>;
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
    if (exceptionDetails) {
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    }
    return result.value as unknown;
  };
  return {
    page,
    complaints,
    evaluate,
    barriers: async (rule) => {
      if (!(await evaluate('"axe" in window'))) await evaluate(`${axe}; undefined`);
      // Colours in the middle of a transition are not what people read.
      await evaluate(SETTLED);
      const only = rule === undefined ? '' : `, runOnly: ['${rule}']`;
      const run = `axe.run(document, { preload: false, resultTypes: ['violations']${only} })
        .then(({ violations }) => violations.flatMap(({ id, nodes }) =>
          nodes.map(({ target, failureSummary }) => [id, ...target, failureSummary].join(' '))))`;
      return (await evaluate(run)) as string[];
    },
    close: () => context.close(),
  };
}

/** Opens a section of a form if it is closed. */
export async function openSection(page: Page, title: string): Promise<void> {
  const section = page
    .locator('details.disclosure')
    .filter({ has: page.locator('summary strong', { hasText: title }) });
  if ((await section.getAttribute('open')) === null) await section.locator('summary').click();
}
