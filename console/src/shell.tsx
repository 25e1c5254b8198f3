import { Button, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, NavLink, useLocation } from 'react-router';
import { useRead } from './lib/api';
import { type Name } from '../../shared/api/client';
import { allows } from './lib/access';
import { useSession } from './lib/session';
import { counted } from './lib/labels';

/** The frame of every page: navigation and session. */

/** The third element: the operation that a user needs for this page. */
const PLACES: [path: string, name: string, needed: Name][] = [
  ['/', 'Overview', 'GET /overview'],
  ['/destinations', 'Destinations', 'GET /destinations'],
  ['/sources', 'Sources', 'GET /sources'],
  ['/audiences', 'Audiences', 'GET /audiences'],
  ['/debugger', 'Debugger', 'GET /events'],
  ['/deliveries', 'Deliveries', 'GET /deliveries'],
  ['/replays', 'Replays', 'GET /replays'],
  ['/notices', 'Notices', 'GET /notices'],
  ['/alerts', 'Alerts', 'GET /alerts'],
  ['/deletions', 'Deletions', 'GET /deletions'],
  ['/audit', 'Audit', 'GET /audit'],
  ['/tokens', 'Tokens', 'GET /tokens'],
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
        <span className="brand">Waypost</span>
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
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
    </div>
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
  return (
    <ul>
      {PLACES.filter(([, , needed]) => allows(session, needed)).map(([path, name]) => (
        <li key={path}>
          <NavLink to={path} end={path === '/'}>
            {name}
          </NavLink>
        </li>
      ))}
    </ul>
  );
}
