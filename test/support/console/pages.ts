import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/runtime/repo-root';

/** Every page of the console, for tests that look at all of them. */

/** What a page is about. */
export interface Subjects {
  destination: string;
  source: string;
  delivery: string;
  replay: string;
  audience: string;
  trait: string;
  /** has accepted events */
  user: string;
}

export interface ConsolePage {
  path: string;
  /** finds the first of what somebody opens the page for; it must be visible without scrolling */
  first: string;
}

const ROW = 'tbody tr';
const FIELD = 'form input, form textarea';
const HEADING = 'main h1';
/** a member, or that there is none */
const MEMBER = `main section ${ROW}, main section [role=status] p:not(:empty)`;

export function consolePages(of: Subjects): ConsolePage[] {
  const destination = `/destinations/${of.destination}`;
  const source = `/sources/${of.source}`;
  const definitions = [`/audiences/${of.audience}`, `/audiences/traits/${of.trait}`];
  return [
    { path: '/', first: ROW },
    { path: '/connect', first: 'main input' },
    { path: `/connect/new?sources=${of.source}`, first: '.kind' },
    { path: `/connect/${of.destination}/source`, first: FIELD },
    { path: `/connect/${of.destination}/endpoint`, first: FIELD },
    { path: `/connect/${of.destination}/test`, first: 'main select' },
    { path: `/connect/${of.destination}/test?test=failed`, first: HEADING },
    { path: `/connect/${of.destination}/live`, first: HEADING },
    { path: '/destinations', first: ROW },
    { path: destination, first: '.tile' },
    { path: `${destination}/deliveries`, first: ROW },
    { path: `${destination}/settings`, first: FIELD },
    { path: `${destination}/changes`, first: ROW },
    { path: '/deliveries', first: ROW },
    { path: '/deliveries?status=dead', first: ROW },
    { path: `/deliveries/${of.delivery}`, first: 'main .sentence' },
    { path: `/lookup?user=${encodeURIComponent(of.user)}`, first: ROW },
    { path: '/replays', first: ROW },
    { path: `/replays?destination=${of.destination}`, first: FIELD },
    { path: `/replays/${of.replay}`, first: 'main section' },
    { path: '/debugger', first: '.events > li' },
    { path: '/sources', first: ROW },
    { path: source, first: HEADING },
    { path: `${source}/calls`, first: '.events > li' },
    { path: `${source}/code`, first: 'pre' },
    { path: `${source}/settings`, first: FIELD },
    { path: `${source}/changes`, first: ROW },
    { path: '/audiences', first: ROW },
    { path: '/audiences/new', first: FIELD },
    { path: '/audiences/new?by=list', first: FIELD },
    { path: '/audiences/traits', first: ROW },
    { path: '/audiences/traits/new', first: FIELD },
    ...definitions.flatMap((definition) => [
      { path: definition, first: '.figures' },
      { path: `${definition}/members`, first: MEMBER },
      { path: `${definition}/settings`, first: FIELD },
      { path: `${definition}/changes`, first: ROW },
    ]),
    { path: '/deletions', first: ROW },
    { path: '/alerts', first: FIELD },
    { path: '/notices', first: ROW },
    { path: '/audit', first: ROW },
    { path: '/tokens', first: ROW },
    { path: '/no/such/page', first: HEADING },
  ];
}

/**
 * Returns the routes of the console that no page of a list is at. A route is one with each of its
 * optional parts, and another without.
 */
export function routesWithout(pages: readonly ConsolePage[]): string[] {
  const app = readFileSync(join(ROOT, 'console/src/app.tsx'), 'utf8');
  const routes = [...app.matchAll(/<Route\s+path="([^"]+)"/g)].map(([, path = '']) => path);
  const paths = pages.map(({ path }) => path.split('?')[0]?.slice(1) ?? '');
  return routes.flatMap(withAndWithout).filter((route) => {
    const parts = route.split('/').map((part) => {
      if (part === '*') return '.*';
      return part.startsWith(':') ? '[^/]+' : part;
    });
    const pattern = new RegExp(`^${parts.join('/')}$`);
    return !paths.some((path) => pattern.test(path));
  });
}

/** `a/:b?/:c?` is `a`, `a/:b` and `a/:b/:c`. */
function withAndWithout(route: string): string[] {
  const parts = route.split('/');
  const needed = parts.filter((part) => !part.endsWith('?')).length;
  return Array.from({ length: parts.length - needed + 1 }, (_, i) =>
    parts
      .slice(0, needed + i)
      .join('/')
      .replaceAll('?', ''),
  );
}

/** Elements beyond the right edge of the window, which make the page scroll sideways. */
export const WIDER = `document.documentElement.scrollWidth <= innerWidth
  ? []
  : [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > innerWidth)
      .map((element) => element.className || element.tagName)`;

/** Names in tables of which less than 60 px can be seen. */
export const VANISHED = `[...document.querySelectorAll('td > .link')]
  .filter((link) => link.offsetParent !== null && link.clientWidth < Math.min(60, link.scrollWidth))
  .map((link) => link.textContent.slice(0, 20) + ' has ' + link.clientWidth + ' px')`;

/** How far below the window's bottom the first of something ends, px; 0: it is in the window. */
export const belowTheFold = (selector: string) => `(() => {
  scrollTo(0, 0);
  const found = [...document.querySelectorAll('${selector}')]
    .find((element) => element.getBoundingClientRect().height > 0);
  if (!found) return 'nothing is shown';
  const { top } = found.getBoundingClientRect();
  return Math.max(0, Math.round(top + 20 - innerHeight));
})()`;
