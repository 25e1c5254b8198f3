import {
  Alert,
  Button,
  Group,
  Modal,
  Skeleton,
  Stack,
  Text,
  Title,
  VisuallyHidden,
} from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { Link, type LinkProps } from 'react-router';
import { fieldProblems, isMissing, sayProblem } from '../lib/problems';
import { absolute, relative, stateInWords } from '../lib/labels';
import { text } from '../texts';

const words = text.ui.ui;

/** The building blocks of all pages. */

/** A page's heading, which also names the browser's tab. */
export function Page({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Waypost`;
  }, [title]);
  return (
    <Stack gap="md">
      <Group justify="space-between" align="center">
        <Title order={1} size="h2">
          {title}
        </Title>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
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

/** Shows that a read is in progress, or why it failed. */
export function Unread({ read, what }: { read: ReadState; what: string }) {
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
        <Text size="sm">{sayProblem(error)}</Text>
        {[...fieldProblems(error)].map(([field, problem]) => (
          <Text key={field} size="sm">
            {/^\d+$/.test(field) ? words.line(Number(field) + 1) : field}: {problem}
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

interface TableProps {
  label: string;
  head: string[];
  /** a box that selects all rows, for the head of a first column of boxes */
  select?: ReactNode;
  children: ReactNode;
}

/** A table that scrolls by itself on a phone, so that the page does not. */
export function Table({ label, head, select, children }: TableProps) {
  return (
    <div className="table-scroll" role="region" aria-label={label} tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            {select !== undefined && select !== false && <td className="select">{select}</td>}
            {head.map((text) => (
              <th key={text} scope="col">
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
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
    <time dateTime={at} title={at}>
      {relative(at, Date.now())}
      {exact && <span className="quiet exact"> {absolute(at, Date.now())}</span>}
    </time>
  );
}

/** Renders again at this interval: relative times grow stale. */
function useBeat(everyMs: number): void {
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

export function LinkButton({
  to,
  children,
  primary,
}: {
  to: string;
  children: ReactNode;
  primary?: boolean;
}) {
  return (
    <Button component={Link} to={to} variant={primary ? 'filled' : 'default'}>
      {children}
    </Button>
  );
}

/** A button that asks for confirmation. */
export function Confirmed(props: {
  label: string;
  question: string;
  children: ReactNode;
  busy?: boolean;
  danger?: boolean;
  /** of the button that closes the dialog; default "Cancel" */
  dismiss?: string;
  /** the choice in the dialog is not complete */
  incomplete?: boolean;
  onConfirm: () => void;
}) {
  const [open, setOpen] = useState(false);
  const color = props.danger ? { color: 'red' } : {};
  return (
    <>
      <Button
        variant={props.danger ? 'outline' : 'default'}
        loading={props.busy ?? false}
        onClick={() => setOpen(true)}
        {...color}
      >
        {props.label}
      </Button>
      {/* Locking the page's scrolling would need an inline style, which the CSP refuses. */}
      <Modal
        opened={open}
        onClose={() => setOpen(false)}
        title={props.question}
        lockScroll={false}
        closeButtonProps={{ 'aria-label': words.close }}
      >
        <Stack>
          {props.children}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setOpen(false)}>
              {props.dismiss ?? words.cancel}
            </Button>
            <Button
              {...color}
              disabled={props.incomplete ?? false}
              onClick={() => {
                setOpen(false);
                props.onConfirm();
              }}
            >
              {props.label}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
