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

/**
 * What is not as meant for a large window: the font is the one that is shipped, rows have one line
 * and look alike, what is short there is whole on hover, and what was sent and answered is open as
 * a whole.
 */
const UNDRESSED = `document.fonts.ready.then(() => {
  const isLoaded = ({ family, status }) => family.includes('Inter') && status === 'loaded';
  const all = (selector) => [...document.querySelectorAll(selector)];
  const heights = all('.table.dense tbody tr').map((row) => row.getBoundingClientRect().height);
  const boxes = all('.exchange pre, .exchange .json');
  const background = (row) => getComputedStyle(row).backgroundColor;
  return [
    ...boxes
      .filter((box) => box.scrollHeight > box.clientHeight + 1)
      .map((box) => 'scrolls in a box: ' + box.ariaLabel),
    ...([...document.fonts].some(isLoaded) ? [] : ['its font is not the shipped one']),
    ...heights
      .filter((height) => height < 36 || height > 40)
      .map((height) => 'a dense row is ' + height + ' px high'),
    ...all('.table tbody tr + tr')
      .filter((row) => background(row) !== background(row.previousElementSibling))
      .map((row) => 'a row has another colour: ' + row.textContent),
    ...all('.table time:not([title], :has(.exact)), .table td.c-why:not([title])')
      .map((cell) => 'not whole on hover: ' + cell.textContent),
  ];
})`;

/** What everything of a kind looks like in a large window. */
const STYLES = {
  body: { fontSize: '14px' },
  h1: { fontSize: '20px' },
  '.table td': { fontSize: '13px' },
  '.table td .link': { textDecorationLine: 'none' },
  '.table td.number': { textAlign: 'right', fontVariantNumeric: 'tabular-nums' },
};
const MISSTYLED = `Object.entries(${JSON.stringify(STYLES)}).flatMap(([selector, styles]) =>
  [...document.querySelectorAll(selector)].flatMap((element) => Object.entries(styles)
    .map(([property, wanted]) => ({ property, wanted, found: getComputedStyle(element)[property] }))
    .filter(({ wanted, found }) => found !== wanted)
    .map(({ property, found }) => selector + ' has ' + property + ' ' + found)))`;

/** Where the path above the heading leads. */
const CRUMBS = `[...document.querySelectorAll('nav.crumbs a')]
  .map((link) => link.getAttribute('href'))`;
/** Returns the list that a page leads back to; undefined: none of these. */
function listAbove(path: string): string | undefined {
  if (path === '/lookup') return '/deliveries';
  return /^\/(deliveries|destinations|replays|sources)(?=\/)/.exec(path)?.[0];
}

/**
 * What leaves the window while a page scrolls, and should not: its header with tabs, and the heads
 * of tables that need not scroll sideways.
 */
const LEAVING = `(() => {
  const gone = [];
  let stayed = 0;
  const bar = document.querySelector('.top').getBoundingClientRect().height;
  const header = document.querySelector('.head-stays');
  const line = bar + (header ? header.getBoundingClientRect().height : 0);
  for (const table of document.querySelectorAll('main .table-scroll[data-fits] > table')) {
    table.scrollIntoView();
    if (header && Math.abs(header.getBoundingClientRect().top - bar) > 1)
      gone.push('the header leaves');
    const { top, bottom } = table.getBoundingClientRect();
    const head = table.tHead.rows[0].cells[0].getBoundingClientRect();
    if (top > line - 2 || bottom < line + head.height) continue;
    if (Math.abs(head.top - line) > 1)
      gone.push('the head of ' + table.parentElement.ariaLabel + ' leaves');
    else stayed++;
  }
  scrollTo(0, 0);
  return { gone, stayed };
})()`;

/** Rows that are no cards on a phone: their cells stand beside each other. */
const NO_CARDS = `[...document.querySelectorAll('.table thead, .table td')]
  .filter((element) => element.offsetParent !== null)
  .filter((element) => getComputedStyle(element).display !== 'block')
  .map((element) => 'no card: ' + element.textContent.slice(0, 20))`;

/** Returns what is not as meant for a large window, and how many heads of tables stayed in it. */
export async function looksOf({ page, evaluate }: Tab): Promise<{ odd: string[]; stayed: number }> {
  await page.setViewportSize({ width: 1_280, height: 800 });
  // What is under the pointer looks different.
  await page.mouse.move(0, 0);
  const { gone, stayed } = (await evaluate(LEAVING)) as { gone: string[]; stayed: number };
  const undressed = (await evaluate(UNDRESSED)) as string[];
  const misstyled = (await evaluate(MISSTYLED)) as string[];
  const list = listAbove(new URL(page.url()).pathname);
  const crumbs = ((await evaluate(CRUMBS)) as string[]).join();
  const astray = list === undefined || crumbs === list ? [] : [`its path leads to "${crumbs}"`];
  return { odd: [...undressed.slice(0, 5), ...new Set(misstyled), ...astray, ...gone], stayed };
}

/** Returns what is no card on a phone. */
export async function uncardedOf({ page, evaluate }: Tab): Promise<string[]> {
  await page.setViewportSize({ width: 390, height: 800 });
  return ((await evaluate(NO_CARDS)) as string[]).slice(0, 5);
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
