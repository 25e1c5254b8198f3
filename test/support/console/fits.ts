import { eventually } from '../eventually';
import { type Tab } from '../browser';
import { belowTheFold, VANISHED, WIDER } from './pages';

/** How a page looks: in windows of several sizes, and to people who cannot see it well. */

/** Names that people give and clients send. */
const MOST = 200;
export const LONG = 'Donaudampfschifffahrtsgesellschaft'.repeat(6).slice(0, MOST);
export const SPACED = 'the very long name of a customer with several words '
  .repeat(4)
  .slice(0, MOST)
  .trim();
export const FROM_RIGHT = `متجر الكتب القديمة في المدينة ${'الكبيرة '.repeat(20)}`
  .slice(0, MOST)
  .trim();
const EMOJI = '🧾'.repeat(MOST / 2);
export const MARKUP = `<script>window.wasRun = true</script><img src=x onerror="window.wasRun=true">`;
export const STRANGE_NAMES = [LONG, SPACED, FROM_RIGHT, EMOJI, MARKUP];

/** A window by its size in CSS px. */
export interface Window {
  width: number;
  height: number;
  /** it must show what the page is about without scrolling */
  showsFirst: boolean;
}

/** Returns the barriers of the page that is open, in light and in dark. */
export async function barriersIn(tab: Tab): Promise<string[]> {
  const light = await tab.barriers();
  await tab.page.emulateMedia({ colorScheme: 'dark' });
  // Dark mode changes nothing else.
  const dark = await tab.barriers('color-contrast');
  await tab.page.emulateMedia({ colorScheme: 'light' });
  return [...light, ...dark];
}

/**
 * Returns what of the page that is open does not fit its window, at each size. Data and charts may
 * still arrive: only what stays is returned.
 * @param first finds what must be visible without scrolling
 */
export async function misfitsOf(
  tab: Tab,
  first: string,
  windows: readonly Window[],
): Promise<string[]> {
  const found: string[] = [];
  for (const { width, height, showsFirst } of windows) {
    await tab.page.setViewportSize({ width, height });
    let beyond: unknown[] = [];
    const look = async () => {
      const wide = (await tab.evaluate(WIDER)) as string[];
      const vanished = (await tab.evaluate(VANISHED)) as string[];
      const below = showsFirst ? await tab.evaluate(belowTheFold(first)) : 0;
      beyond = [...wide.slice(0, 5), ...vanished.slice(0, 5), ...(below === 0 ? [] : [below])];
      expect(beyond).toEqual([]);
    };
    await eventually(look, { deadlineMs: 10_000 }).catch(() => undefined);
    if (beyond.length > 0) {
      found.push(`at ${String(width)} × ${String(height)}: ${beyond.join(', ')}`);
    }
  }
  return found;
}
