import { Modal } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useEffect, useId, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { type Name } from '../../../shared/api/client';
import { allows } from '../lib/access';
import { useRead } from '../lib/api';
import { useSession } from '../lib/session';
import { Icon } from '../ui/icons';
import { leadsOf, type PaletteEntry, entriesWith } from './find';
import { Shortcuts } from './shortcuts';
import { text } from '../texts';

const words = text.shell.palette;

/** A pause in typing that ends a word. */
const TYPING_MS = 150;
/** Of each kind: the list stays short enough to read. */
const SHOWN = 6;

/**
 * The search of everything, the keys that reach it from every page, and the list of the keys. `/`
 * goes to the search field of the page, if it has one.
 */
export function Palette() {
  const [open, setOpen] = useState<'search' | 'keys'>();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        setOpen('search');
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === '?') setOpen('keys');
      if (event.key !== '/') return;
      event.preventDefault();
      const field = document.querySelector<HTMLInputElement>('main [data-search]');
      if (field) field.focus();
      else setOpen('search');
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  const close = () => setOpen(undefined);
  return (
    <>
      <button className="ask" onClick={() => setOpen('search')}>
        <Icon name="search" />
        <span>{words.placeholder}</span>
        <kbd aria-hidden="true">{words.key}</kbd>
      </button>
      {/* Locking the page's scrolling would need an inline style, which the CSP refuses. */}
      <Modal
        opened={open === 'search'}
        onClose={close}
        title={words.open}
        withCloseButton={false}
        padding={0}
        size="lg"
        classNames={{ header: 'unseen-head' }}
      >
        <Search onGo={close} />
      </Modal>
      <Modal opened={open === 'keys'} onClose={close} title={words.shortcuts}>
        <Shortcuts />
      </Modal>
    </>
  );
}

/** Returns whether a key belongs to a field. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

function Search({ onGo }: { onGo: () => void }) {
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const groups = useFound(typed);
  const found = groups.flatMap(({ entries }) => entries);
  const navigate = useNavigate();
  const list = useId();
  const active = useRef<HTMLLIElement>(null);
  useEffect(() => {
    // It returns a promise in newer browsers, which React would take for a clean-up.
    active.current?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  const go = (entry: PaletteEntry | undefined) => {
    if (!entry) return;
    onGo();
    void navigate(entry.to);
  };
  const move = (by: number) => setAt((at + by + found.length) % Math.max(1, found.length));
  return (
    <>
      <input
        className="palette-field"
        role="combobox"
        aria-expanded
        aria-controls={list}
        aria-activedescendant={found[at] && `${list}-${String(at)}`}
        aria-label={words.field}
        placeholder={words.placeholder}
        value={typed}
        data-autofocus
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') move(1);
          else if (event.key === 'ArrowUp') move(-1);
          else if (event.key === 'Enter') go(found[at]);
          else return;
          event.preventDefault();
        }}
      />
      <ul className="palette" role="listbox" id={list} aria-label={words.results}>
        {groups.map(({ name, entries }) => (
          <li key={name} role="presentation">
            <div className="palette-group" role="presentation">
              {name}
            </div>
            <ul role="group" aria-label={name}>
              {entries.map((entry) => {
                const i = found.indexOf(entry);
                return (
                  <li
                    key={entry.to + entry.name}
                    ref={i === at ? active : undefined}
                    role="option"
                    id={`${list}-${String(i)}`}
                    aria-selected={i === at}
                    onMouseMove={() => setAt(i)}
                    onClick={() => go(entry)}
                  >
                    <bdi>{entry.name}</bdi>
                  </li>
                );
              })}
            </ul>
          </li>
        ))}
      </ul>
    </>
  );
}

const { pages: NAMES } = words;
/** The pages, and the operation that a user needs for each. */
const PAGES: readonly (PaletteEntry & { needed: Name })[] = [
  { name: NAMES.overview, to: '/', needed: 'GET /overview' },
  { name: NAMES.events, to: '/debugger', needed: 'GET /events' },
  { name: NAMES.deliveries, to: '/deliveries', needed: 'GET /deliveries' },
  { name: NAMES.waiting, to: '/deliveries?status=pending', needed: 'GET /deliveries' },
  { name: NAMES.dead, to: '/deliveries?status=dead', needed: 'GET /deliveries' },
  { name: NAMES.replays, to: '/replays', needed: 'GET /replays' },
  { name: NAMES.destinations, to: '/destinations', needed: 'GET /destinations' },
  { name: NAMES.failing, to: '/destinations?state=failing', needed: 'GET /destinations' },
  { name: NAMES.sources, to: '/sources', needed: 'GET /sources' },
  { name: NAMES.audiences, to: '/audiences', needed: 'GET /audiences' },
  { name: NAMES.traits, to: '/audiences/traits', needed: 'GET /computed-traits' },
  { name: NAMES.notices, to: '/notices', needed: 'GET /notices' },
  { name: NAMES.alerts, to: '/alerts', needed: 'GET /alerts' },
  { name: NAMES.lookup, to: '/lookup', needed: 'GET /lookup' },
  { name: NAMES.connect, to: '/connect', needed: 'POST /destinations' },
  { name: NAMES.newAudience, to: '/audiences/new', needed: 'POST /audiences' },
  { name: NAMES.tokens, to: '/tokens', needed: 'GET /tokens' },
  { name: NAMES.audit, to: '/audit', needed: 'GET /audit' },
  { name: NAMES.deletions, to: '/deletions', needed: 'GET /deletions' },
];

interface Group {
  name: string;
  entries: PaletteEntry[];
}

/** Pages at once; destinations and sources from the server, as soon as somebody has typed. */
function useFound(typed: string): Group[] {
  const asked = useDebouncedValue(typed.trim(), TYPING_MS)[0];
  const options = { enabled: asked !== '', keep: true };
  const query = { q: asked, limit: SHOWN };
  const destinations = useRead('GET /destinations', { query }, options);
  const sources = useRead('GET /sources', { query }, options);
  const { session } = useSession();
  const pages = PAGES.filter(({ needed }) => allows(session, needed));
  const named = (kind: string, found: typeof destinations | typeof sources) =>
    asked === ''
      ? []
      : (found.data?.data.data ?? []).map(({ id, name }) => ({ name, to: `/${kind}/${id}` }));
  return [
    { name: words.destinations, entries: named('destinations', destinations) },
    { name: words.sources, entries: named('sources', sources) },
    { name: words.search, entries: leadsOf(typed, words) },
    { name: words.goTo, entries: entriesWith(pages, typed.trim()).slice(0, SHOWN * 2) },
  ].filter(({ entries }) => entries.length > 0);
}
