import { Button, Text, useMantineColorScheme } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, NavLink, useLocation } from 'react-router';
import { useRead } from './lib/api';
import { type Name } from '../../shared/api/client';
import { allows } from './lib/access';
import { useSession } from './lib/session';
import { counted } from './lib/labels';
import { Icon, type IconName } from './ui/icons';
import { DOCS } from './lib/docs';

/** The frame of every page: navigation, session, appearance, documentation and version. */

type Place = [path: string, name: string, icon: IconName, needed: Name];

/** The last element of a place: the operation that a user needs for this page. */
const GROUPS: [heading: string, places: Place[]][] = [
  ['', [['/', 'Overview', 'overview', 'GET /overview']]],
  [
    'Watch',
    [
      ['/deliveries', 'Deliveries', 'deliveries', 'GET /deliveries'],
      ['/debugger', 'Debugger', 'debugger', 'GET /events'],
      ['/replays', 'Replays', 'replays', 'GET /replays'],
      ['/notices', 'Notices', 'notices', 'GET /notices'],
    ],
  ],
  [
    'Set up',
    [
      ['/sources', 'Sources', 'sources', 'GET /sources'],
      ['/destinations', 'Destinations', 'destinations', 'GET /destinations'],
      ['/audiences', 'Audiences', 'audiences', 'GET /audiences'],
      ['/alerts', 'Alerts', 'alerts', 'GET /alerts'],
    ],
  ],
  [
    'Administer',
    [
      ['/tokens', 'Tokens', 'tokens', 'GET /tokens'],
      ['/audit', 'Audit', 'audit', 'GET /audit'],
      ['/deletions', 'Deletions', 'deletions', 'GET /deletions'],
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
    // After a navigation, screen readers and the keyboard start at the top of the page. The browser handles the first
    // page.
    if (shown.current !== pathname) main.current?.focus();
    shown.current = pathname;
  }, [pathname]);
  return (
    <div className="shell">
      <a className="skip" href="#main" onClick={() => main.current?.focus()}>
        Skip to content
      </a>
      <header className="top">
        <Link to="/" className="brand" aria-label="Waypost">
          <img src="/icon.svg" width="22" height="22" alt="" />
          <span>Waypost</span>
        </Link>
        <button className="menu" aria-expanded={open} aria-controls="places" onClick={() => setOpen(!open)}>
          Menu
        </button>
        <span className="who">
          <Unseen />
          <Text size="sm" span>
            {session.name} ({session.role.replace('_', '-')})
          </Text>
          <Button size="xs" variant="default" onClick={signOut}>
            Sign out
          </Button>
        </span>
      </header>
      <nav id="places" aria-label="Pages" className={open ? 'places open' : 'places'}>
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
const SCHEME_NAMES = { auto: 'system', light: 'light', dark: 'dark' } as const;

/** Switches between the appearance of the system, light and dark. The browser remembers it. */
function Appearance() {
  // Otherwise Mantine adds an inline style, which the Content-Security-Policy refuses.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  return (
    <button onClick={() => setColorScheme(SCHEMES[colorScheme])}>
      <Icon name={colorScheme} />
      Appearance: {SCHEME_NAMES[colorScheme]}
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
          {unseen > MANY ? `More than ${MANY} notices` : counted(unseen, 'notice')}
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
        Documentation
      </a>
      <a href="/api/v1/openapi.json" target="_blank" rel="noreferrer">
        API description
      </a>
      <span>Waypost {__WAYPOST_VERSION__}</span>
    </div>
  );
}
