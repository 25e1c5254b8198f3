import { Button, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { NavLink, useLocation } from 'react-router';
import { useMay, useSession } from './lib/session';

/** What is around every page: where one can go, and who one is. */

const PLACES: [path: string, name: string, admin?: true][] = [
  ['/', 'Overview'],
  ['/destinations', 'Destinations'],
  ['/sources', 'Sources'],
  ['/debugger', 'Debugger'],
  ['/deliveries', 'Deliveries'],
  ['/replays', 'Replays'],
  ['/deletions', 'Deletions'],
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
