import { type Locator, type Page } from 'playwright-core';

/** The console by keyboard alone, as somebody uses it who has no mouse. */

/** More stops than any page has. */
const MOST_STOPS = 400;

/** Moves the focus by Tab until the element has it. */
export async function reach(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  const focused = target.and(page.locator(':focus'));
  for (let i = 0; i < MOST_STOPS; i++) {
    if ((await focused.count()) > 0) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`The keyboard does not reach ${String(target)}`);
}

/** Follows a link, or presses a button. */
export async function activate(page: Page, target: Locator): Promise<void> {
  await reach(page, target);
  await page.keyboard.press('Enter');
}

/**
 * Types into the search field of a list of deliveries. Each filter, such as `user:u-17`, has become
 * one before the next text.
 */
export async function searchFor(page: Page, ...texts: readonly string[]): Promise<void> {
  await page.getByLabel('Search in ids, events and bodies', { exact: true }).waitFor();
  await page.keyboard.press('/');
  for (const text of texts) {
    const [key, value] = text.split(':');
    if (value === undefined) {
      await page.keyboard.type(text);
    } else {
      await page.keyboard.type(`${text} `);
      await page
        .getByRole('button', { name: `Remove the filter ${key ?? ''}: ${value}`, exact: true })
        .waitFor();
    }
  }
}
