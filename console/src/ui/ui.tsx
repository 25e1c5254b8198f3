import { Alert, Button, Group, Modal, Skeleton, Stack, Text, VisuallyHidden } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, type LinkProps } from 'react-router';
import { defined } from '../../../shared/collections/defined';
import { fieldProblems, isMissing, partsOf, sayProblem } from '../lib/problems';
import { useReturn } from '../lib/return';
import { moveInRows, openRow } from '../lib/rows';
import { absolute, count, relative, spanOf, stateInWords } from '../lib/labels';
import { Icon } from './icons';
import { text } from '../texts';

const words = text.ui.ui;

/** The building blocks of all pages. */

interface PageProps {
  title: string;
  /** the list that the page's entry is in */
  within?: { name: string; to: string };
  /** in short, beside the heading: the state of the entry */
  state?: ReactNode;
  actions?: ReactNode;
  /** below the heading, and with it at the top while the page scrolls */
  tabs?: ReactNode;
  children: ReactNode;
}

/** A page's heading, which also names the browser's tab. */
export function Page({ title, within, state, actions, tabs, children }: PageProps) {
  const stays = tabs !== undefined;
  const head = useRef<HTMLElement>(null);
  useEffect(() => {
    document.title = `${title} · Waypost`;
  }, [title]);
  useEffect(() => {
    const { current: header } = head;
    const page = header?.parentElement;
    if (!header || !page || !stays) return;
    // What else stays at the top of the window stays below it.
    const observer = new ResizeObserver(() =>
      page.style.setProperty('--head', `${String(header.offsetHeight)}px`),
    );
    observer.observe(header);
    return () => {
      observer.disconnect();
      page.style.removeProperty('--head');
    };
  }, [stays]);
  return (
    <Stack gap="md">
      <header ref={head} className={stays ? 'head head-stays' : 'head'}>
        {within && (
          <nav className="crumbs" aria-label={words.crumbs}>
            <TextLink to={within.to}>
              <Icon name="back" />
              {within.name}
            </TextLink>
          </nav>
        )}
        <div className="head-row">
          <h1>
            <bdi>{title}</bdi>
          </h1>
          {state}
          {actions !== undefined && <div className="head-actions">{actions}</div>}
        </div>
        {tabs}
      </header>
      {children}
    </Stack>
  );
}

interface ReadState {
  error: Error | null;
  refetch: () => unknown;
}

/** A part of a page, with its heading. */
export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="card" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

interface ListedProps<T> extends Pick<UnreadProps, 'what'> {
  read: ReadState & { data: { data: { data: T[]; next?: string | null } } | undefined };
  /** in place of an empty list */
  empty: ReactNode;
  children: (items: T[]) => ReactNode;
}

/** A list that is read. */
export function Listed<T>({ read, what, empty, children }: ListedProps<T>) {
  if (!read.data || read.error) return <Unread read={read} what={what} />;
  const { data, next = null } = read.data.data;
  if (data.length > 0) return children(data);
  // The page ended before it found anything.
  return next === null ? empty : <Empty title={words.nothingSoFar} />;
}

interface UnreadProps {
  read: ReadState;
  what: string;
}

/** Shows that a read is in progress, or why it failed. */
export function Unread({ read, what }: UnreadProps) {
  if (read.error) {
    return (
      <Failure
        error={read.error}
        what={words.load(what)}
        missing={what}
        retry={() => void read.refetch()}
      />
    );
  }
  return <Waiting for={what} />;
}

export function Waiting({ for: what }: { for: string }) {
  return (
    <div role="status" className="skeletons">
      <VisuallyHidden>{words.loading(what)}</VisuallyHidden>
      <Skeleton height={18} width="40%" />
      <Skeleton height={18} />
      <Skeleton height={18} width="75%" />
    </div>
  );
}

interface FailureProps {
  error: unknown;
  /** the failed task, to follow "Could not" */
  what: string;
  /** the thing that a 404 says does not exist */
  missing?: string;
  retry?: () => void;
}

export function Failure({ error, what, missing, retry }: FailureProps) {
  const title =
    missing !== undefined && isMissing(error) ? words.notFound(missing) : words.couldNot(what);
  return (
    <Alert color="red" title={title} role="alert">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">
          <Said message={sayProblem(error)} />
        </Text>
        {[...fieldProblems(error)].map(([field, problem]) => (
          <Text key={field} size="sm">
            {/^\d+$/.test(field) ? words.line(Number(field) + 1) : field}:{' '}
            <Said message={problem} />
          </Text>
        ))}
        {retry && (
          <Button size="xs" variant="default" onClick={retry}>
            {words.tryAgain}
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

/** A message of the API, with the names of fields as code. */
export function Said({ message }: { message: string }) {
  return partsOf(message).map((part, i) => (i % 2 === 0 ? part : <code key={i}>{part}</code>));
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Stack gap="xs" align="center" className="empty">
      <Text fw={600}>{title}</Text>
      {children}
    </Stack>
  );
}

/** Replaces a page whose reads the API allows only to admins. */
export function AdminsOnly({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Page title={title}>
      <Empty title={words.adminsOnly}>{children}</Empty>
    </Page>
  );
}

/** The head of a column. */
interface Column {
  text: string;
  /** aligned to the right, with digits of one width */
  number?: boolean;
  /** in place of the text: a button that sorts */
  sort?: ReactNode;
  sorted?: 'ascending' | 'descending' | undefined;
  className?: string;
}

/** The head of a column of numbers. */
export function number(text: string): Column {
  return {
    text,
    number: true,
  };
}

interface TableProps {
  label: string;
  head: (string | Column)[];
  /** a box that selects all rows, for the head of a first column of boxes */
  select?: ReactNode;
  /** further classes: `dense` has rows of one line */
  className?: string;
  /** its rows have `data-row`, and each leads to the page of its first link */
  leads?: boolean;
  children: ReactNode;
}

/** What a card leaves out. */
const NOTHING = /^[0–]$/;

/**
 * A table that scrolls sideways by itself, so that the page does not. Where it need not, its head
 * stays in the window. On a phone its rows are cards: the style shows the name of each column
 * beside its value.
 */
export function Table({
  label,
  head,
  select,
  className = '',
  leads = false,
  children,
}: TableProps) {
  const box = useReturn();
  const body = useRef<HTMLTableSectionElement>(null);
  const hasSelect = select !== undefined && select !== false;
  const columns = head.map((column) => (typeof column === 'string' ? { text: column } : column));
  useEffect(() => {
    const names = hasSelect ? ['', ...columns.map(nameOf)] : columns.map(nameOf);
    for (const row of body.current?.rows ?? []) {
      for (const [i, cell] of [...row.cells].entries()) {
        cell.dataset.label = names[i] ?? '';
        cell.toggleAttribute('data-nothing', NOTHING.test(cell.textContent));
      }
    }
  });
  useEffect(() => {
    const [outer, table] = [box.current, box.current?.firstElementChild];
    if (!outer || !table) return;
    const widthOf = (element: Element) => element.getBoundingClientRect().width;
    const observer = new ResizeObserver(() =>
      outer.toggleAttribute('data-fits', widthOf(table) <= widthOf(outer)),
    );
    observer.observe(outer);
    observer.observe(table);
    return () => observer.disconnect();
  }, [box]);
  return (
    <div className="table-scroll" role="region" aria-label={label} tabIndex={0} ref={box}>
      <table className={`table cards ${className}`}>
        <thead>
          <tr>
            {hasSelect && <td className="select">{select}</td>}
            {columns.map(({ text, number, sort, sorted, className = '' }) => (
              <th
                key={text}
                scope="col"
                className={number ? `number ${className}` : className}
                aria-sort={sorted}
              >
                {sort ?? text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody
          ref={body}
          onClick={leads ? openRow : undefined}
          onKeyDown={leads ? moveInRows : undefined}
        >
          {children}
        </tbody>
      </table>
    </div>
  );
}

function nameOf({ text }: Column): string {
  return text;
}

/** A state as a coloured word: never a colour alone. */
export function Pill({ kind, children }: { kind: string; children?: ReactNode }) {
  return <span className={`pill pill-${kind}`}>{children ?? stateInWords(kind)}</span>;
}

/** A relative time; `exact` shows the exact time beside it, in the time zone of the browser. */
export function When({ at, exact = false }: { at: string | null; exact?: boolean }) {
  useBeat(5_000);
  if (at === null) return <>–</>;
  return (
    <time dateTime={at} {...defined({ title: exact ? undefined : absolute(at, Date.now()) })}>
      {relative(at, Date.now())}
      {exact && <span className="quiet exact"> {absolute(at, Date.now())}</span>}
    </time>
  );
}

/** How long something has lasted: "3 min". */
export function HowLong({ from }: { from: string | null }) {
  useBeat(5_000);
  if (from === null) return <>–</>;
  return (
    <time dateTime={from} title={absolute(from, Date.now())}>
      {spanOf(Date.now() - Date.parse(from))}
    </time>
  );
}

/** A time of the clock, in the time zone of the browser: one line beside other times. */
export function At({ at }: { at: string }) {
  return (
    <time dateTime={at} title={relative(at, Date.now())}>
      {absolute(at, Date.now())}
    </time>
  );
}

/** Renders again at this interval: relative times grow stale. */
export function useBeat(everyMs: number): void {
  const [, setBeats] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      setBeats((beats) => beats + 1);
    }, everyMs);
    return () => {
      clearInterval(timer);
    };
  }, [everyMs]);
}

export function TextLink(props: LinkProps) {
  return <Link className="link" {...props} />;
}

/**
 * A link by the name of an entry, which may be long and in any direction: where it is cut off, its
 * title has the whole.
 */
export function NameLink({ to, name }: { to: string; name: string }) {
  return (
    <TextLink to={to} title={name}>
      <bdi>{name}</bdi>
    </TextLink>
  );
}

/** A cell with a number that leads to what it counts. */
export function Counted({ n, to }: { n: number; to: string }) {
  return <td className="number">{n === 0 ? '0' : <TextLink to={to}>{count(n)}</TextLink>}</td>;
}

export function LinkButton({
  to,
  children,
  primary = false,
  size = 'sm',
}: {
  to: string;
  children: ReactNode;
  primary?: boolean;
  size?: 'xs' | 'sm';
}) {
  return (
    <Button component={Link} to={to} size={size} variant={primary ? 'filled' : 'default'}>
      {children}
    </Button>
  );
}

interface QuestionProps {
  /** what the user confirms: the button's text */
  label: string;
  question: string;
  children: ReactNode;
  /** it cannot be undone */
  danger?: boolean;
  /** of the button that closes the dialog; default "Cancel" */
  dismiss?: string;
  /** the choice in the dialog is not complete */
  incomplete?: boolean;
  onConfirm: () => void;
}

/** A dialog that asks for confirmation. */
export function Question({
  opened,
  onClose,
  ...props
}: QuestionProps & { opened: boolean; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title={props.question}>
      <Stack>
        {props.children}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {props.dismiss ?? words.cancel}
          </Button>
          <Button
            {...defined({ color: props.danger ? 'red' : undefined })}
            disabled={props.incomplete ?? false}
            onClick={() => {
              onClose();
              props.onConfirm();
            }}
          >
            {props.label}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** A button that asks for confirmation. */
export function Confirmed({
  busy = false,
  size = 'sm',
  ...props
}: QuestionProps & { busy?: boolean; size?: 'xs' | 'sm' }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button
        variant={props.danger ? 'outline' : 'default'}
        size={size}
        loading={busy}
        onClick={() => setOpen(true)}
        {...defined({ color: props.danger ? 'red' : undefined })}
      >
        {props.label}
      </Button>
      <Question {...props} opened={open} onClose={() => setOpen(false)} />
    </>
  );
}
