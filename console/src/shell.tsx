import { Button, Text, useMantineColorScheme } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, NavLink, useLocation } from 'react-router';
import { useRead } from './lib/api';
import { type Name } from '../../shared/api/client';
import { allows } from './lib/access';
import { useSession } from './lib/session';
import { roleInWords } from './lib/labels';
import { Icon, type IconName } from './ui/icons';
import { DOCS } from './lib/docs';
import { text } from './texts';

const words = text.shell.shell;

/** The frame of every page: navigation, session, appearance, documentation and version. */

type Place = [path: string, name: string, icon: IconName, needed: Name];

/** The last element of a place: the operation that a user needs for this page. */
const GROUPS: [heading: string, places: Place[]][] = [
  ['', [['/', words.overview, 'overview', 'GET /overview']]],
  [
    words.watch,
    [
      ['/deliveries', words.deliveries, 'deliveries', 'GET /deliveries'],
      ['/debugger', words.debugger, 'debugger', 'GET /events'],
      ['/replays', words.replays, 'replays', 'GET /replays'],
      ['/notices', words.notices, 'notices', 'GET /notices'],
    ],
  ],
  [
    words.setUp,
    [
      ['/sources', words.sources, 'sources', 'GET /sources'],
      ['/destinations', words.destinations, 'destinations', 'GET /destinations'],
      ['/audiences', words.audiences, 'audiences', 'GET /audiences'],
      ['/alerts', words.alerts, 'alerts', 'GET /alerts'],
    ],
  ],
  [
    words.administer,
    [
      ['/tokens', words.tokens, 'tokens', 'GET /tokens'],
      ['/audit', words.audit, 'audit', 'GET /audit'],
      ['/deletions', words.deletions, 'deletions', 'GET /deletions'],
    ],
  ],
];

export function Shell({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const { session, signOut } = useSession();
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const shown = useRef(pathname);
  useEffect(() => {
    setOpen(false);
    // After a navigation, screen readers and the keyboard start at the top of the page. The browser
    // handles the first page.
    if (shown.current !== pathname) main.current?.focus();
    shown.current = pathname;
  }, [pathname]);
  return (
    <div className="shell">
      <a className="skip" href="#main" onClick={() => main.current?.focus()}>
        {words.skip}
      </a>
      <header className="top">
        <Link to="/" className="brand" aria-label={words.waypost}>
          <img src="/icon.svg" width="22" height="22" alt="" />
          <span>{words.waypost}</span>
        </Link>
        <button
          className="menu"
          aria-expanded={open}
          aria-controls="places"
          onClick={() => setOpen(!open)}
        >
          {words.menu}
        </button>
        <span className="who">
          <Unseen />
          <Text size="sm" span>
            {session.name} ({roleInWords(session.role)})
          </Text>
          <Button size="xs" variant="default" onClick={signOut}>
            {words.signOut}
          </Button>
        </span>
      </header>
      <nav id="places" aria-label={words.pages} className={open ? 'places open' : 'places'}>
        <Places />
        <About />
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

const SCHEMES = { auto: 'light', light: 'dark', dark: 'auto' } as const;
const SCHEME_NAMES = words.schemeNames;

/** Switches between the appearance of the system, light and dark. The browser remembers it. */
function Appearance() {
  // Otherwise Mantine adds an inline style, which the Content-Security-Policy refuses.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  return (
    <button onClick={() => setColorScheme(SCHEMES[colorScheme])}>
      <Icon name={colorScheme} />
      {words.appearance(SCHEME_NAMES[colorScheme])}
    </button>
  );
}

const LOOK_MS = 15_000;
/** A larger number is not more useful. */
const MANY = 20;

/** The number of unseen notices, on every page. */
function Unseen() {
  const query = { acknowledged: 'false' as const, limit: MANY + 1 };
  const read = useRead('GET /notices', { query }, { every: LOOK_MS });
  const unseen = read.data?.data.data.length ?? 0;
  return (
    <span role="status">
      {unseen > 0 && (
        <Link className="unseen" to="/notices?acknowledged=false">
          {unseen > MANY ? words.manyUnseen(MANY) : words.unseen(unseen)}
        </Link>
      )}
    </span>
  );
}

function Places() {
  const { session } = useSession();
  const groups = GROUPS.map(([heading, places]) => ({
    heading,
    places: places.filter(([, , , needed]) => allows(session, needed)),
  }));
  return groups
    .filter(({ places }) => places.length > 0)
    .map(({ heading, places }) => (
      <div key={heading}>
        {heading !== '' && <div className="heading">{heading}</div>}
        <ul>
          {places.map(([path, name, icon]) => (
            <li key={path}>
              <NavLink to={path} end={path === '/'}>
                <Icon name={icon} />
                {name}
              </NavLink>
            </li>
          ))}
        </ul>
      </div>
    ));
}

/** Links to the documentation, and the version for bug reports. */
function About() {
  return (
    <div className="about">
      <Appearance />
      <a href={DOCS.start} target="_blank" rel="noreferrer">
        <Icon name="docs" />
        {words.documentation}
      </a>
      <a href="/api/v1/openapi.json" target="_blank" rel="noreferrer">
        {words.apiDescription}
      </a>
      <span>{words.version(__WAYPOST_VERSION__)}</span>
    </div>
  );
}
