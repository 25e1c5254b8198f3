import { Button, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, NavLink, useLocation } from 'react-router';
import { useRead } from './lib/api';
import { useMay, useSession } from './lib/session';
import { counted } from './lib/words';

/** What is around every page: where one can go, and who one is. */

const PLACES: [path: string, name: string, admin?: true][] = [
  ['/', 'Overview'],
  ['/destinations', 'Destinations'],
  ['/sources', 'Sources'],
  ['/audiences', 'Audiences'],
  ['/debugger', 'Debugger'],
  ['/deliveries', 'Deliveries'],
  ['/replays', 'Replays'],
  ['/notices', 'Notices'],
  ['/alerts', 'Alerts'],
  ['/deletions', 'Deletions', true],
  ['/audit', 'Audit', true],
  ['/tokens', 'Tokens', true],
];

export function Shell({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const { session, signOut } = useSession();
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const shown = useRef(pathname);
  useEffect(() => {
    setOpen(false);
    // Another page: who reads by ear or by keyboard begins at its top. The first one is the browser's own affair.
    if (shown.current !== pathname) main.current?.focus();
    shown.current = pathname;
  }, [pathname]);
  return (
    <div className="shell">
      <a className="skip" href="#main" onClick={() => main.current?.focus()}>
        To the content
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
/** Beyond it the number says no more. */
const MANY = 20;

/** What was noticed and nobody has seen yet: on every page, as soon as it is known. */
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
  const admin = useMay('admin');
  return (
    <ul>
      {PLACES.filter(([, , needsAdmin]) => admin || !needsAdmin).map(([path, name]) => (
        <li key={path}>
          <NavLink to={path} end={path === '/'}>
            {name}
          </NavLink>
        </li>
      ))}
    </ul>
  );
}
