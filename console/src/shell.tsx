import { Menu, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, NavigationType, NavLink, useLocation, useNavigationType } from 'react-router';
import { type Name } from '../../shared/api/client';
import { allows } from './lib/access';
import { useRead } from './lib/api';
import { DOCS } from './lib/docs';
import { roleInWords } from './lib/labels';
import { useSession } from './lib/session';
import { Palette } from './palette/palette';
import { Icon, type IconName } from './ui/icons';
import { text } from './texts';

const words = text.shell.shell;

/** The frame of every page: navigation, search, session, appearance, documentation and version. */

type NavEntry = [path: string, name: string, icon: IconName, needed: Name];

/**
 * The pages by what they are about. The last element of an entry: the operation that a user needs
 * for this page.
 */
const GROUPS: [heading: string, entries: NavEntry[]][] = [
  [
    '',
    [
      ['/', words.overview, 'overview', 'GET /overview'],
      ['/debugger', words.events, 'debugger', 'GET /events'],
      ['/lookup', words.lookup, 'search', 'GET /lookup'],
      ['/deliveries', words.deliveries, 'deliveries', 'GET /deliveries'],
      ['/replays', words.replays, 'replays', 'GET /replays'],
      ['/destinations', words.destinations, 'destinations', 'GET /destinations'],
      ['/sources', words.sources, 'sources', 'GET /sources'],
      ['/audiences', words.audiences, 'audiences', 'GET /audiences'],
      ['/notices', words.notices, 'notices', 'GET /notices'],
    ],
  ],
  [
    words.settings,
    [
      ['/tokens', words.tokens, 'tokens', 'GET /tokens'],
      ['/audit', words.audit, 'audit', 'GET /audit'],
      ['/deletions', words.deletions, 'deletions', 'GET /deletions'],
    ],
  ],
];

export function Shell({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const isBack = useNavigationType() === NavigationType.Pop;
  const shown = useRef(pathname);
  useEffect(() => {
    setOpen(false);
    // After a navigation, everybody starts at the top of the page, also by keyboard or screen
    // reader. The browser handles the first page, and a list brings its reader back to the row that
    // they came from.
    if (shown.current !== pathname && !isBack) toTopOf(main.current);
    shown.current = pathname;
  }, [pathname, isBack]);
  return (
    <div className="shell">
      <a className="skip" href="#main" onClick={() => toTopOf(main.current)}>
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
        <Palette />
        <span className="who">
          <Unacknowledged />
          <User />
        </span>
      </header>
      <nav id="places" aria-label={words.pages} className={open ? 'places open' : 'places'}>
        <NavGroups />
        <div className="about">
          <span>{words.version(__WAYPOST_VERSION__)}</span>
        </div>
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

/** The focus alone would scroll to where the header covers the title. */
function toTopOf(main: HTMLElement | null): void {
  main?.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

const SCHEMES = { auto: 'light', light: 'dark', dark: 'auto' } as const;
const SCHEME_NAMES = words.schemeNames;

/** The user's name, with the appearance, the documentation and the way out. */
function User() {
  const { session, signOut } = useSession();
  // Otherwise Mantine adds an inline style, which the Content-Security-Policy refuses.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const { name } = session;
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <UnstyledButton className="user" aria-label={words.userMenu(name)}>
          <span className="initial" data-initial={name.charAt(0).toUpperCase()} />
          <span>{name}</span>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {words.signedInAs(name)} ({roleInWords(session.role)})
        </Menu.Label>
        <Menu.Item
          closeMenuOnClick={false}
          leftSection={<Icon name={colorScheme} />}
          onClick={() => setColorScheme(SCHEMES[colorScheme])}
        >
          {words.appearance(SCHEME_NAMES[colorScheme])}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item
          component="a"
          href={DOCS.start}
          target="_blank"
          rel="noreferrer"
          leftSection={<Icon name="docs" />}
        >
          {words.documentation}
        </Menu.Item>
        <Menu.Item component="a" href={DOCS.api} target="_blank" rel="noreferrer">
          {words.apiReference}
        </Menu.Item>
        <Menu.Item component="a" href="/api/v1/openapi.json" target="_blank" rel="noreferrer">
          {words.openApi}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item onClick={signOut}>{words.signOut}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

const LOOK_MS = 15_000;
/** A larger number is not more useful. */
const MANY = 20;

/** The number of notices that nobody has acknowledged and that are not over, on every page. */
function Unacknowledged() {
  const query = { acknowledged: 'false' as const, open: 'true' as const, limit: MANY + 1 };
  const read = useRead('GET /notices', { query }, { every: LOOK_MS });
  const count = read.data?.data.data.length ?? 0;
  return (
    <span role="status">
      {count > 0 && (
        <Link className="unacknowledged" to="/notices?acknowledged=false&open=true">
          {count > MANY ? words.manyNotices(MANY) : words.noticeCount(count)}
        </Link>
      )}
    </span>
  );
}

function NavGroups() {
  const { session } = useSession();
  const groups = GROUPS.map(([heading, entries]) => ({
    heading,
    entries: entries.filter(([, , , needed]) => allows(session, needed)),
  }));
  return groups
    .filter(({ entries }) => entries.length > 0)
    .map(({ heading, entries }) => (
      <div key={heading}>
        {heading !== '' && <div className="heading">{heading}</div>}
        <ul>
          {entries.map(([path, name, icon]) => (
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
