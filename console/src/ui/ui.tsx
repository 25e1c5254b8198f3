import { ActionIcon, Alert, Button, CopyButton, Group, Loader, Modal, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { Link, type LinkProps } from 'react-router';
import { fieldProblems, isMissing, sayProblem } from '../lib/problems';
import { relative } from '../lib/labels';

/** The building blocks of all pages. */

/** A page's heading, which also names the browser's tab. */
export function Page({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
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
  if (read.error) return <Failure error={read.error} what={what} retry={() => void read.refetch()} />;
  return <Waiting for={what} />;
}

export function Waiting({ for: what }: { for: string }) {
  return (
    <Group gap="sm" role="status">
      <Loader size="sm" />
      <Text>Reading {what} …</Text>
    </Group>
  );
}

export function Failure({ error, what, retry }: { error: unknown; what: string; retry?: () => void }) {
  return (
    <Alert color="red" title={isMissing(error) ? `Not found: ${what}` : `Failed: ${what}`} role="alert">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">{sayProblem(error)}</Text>
        {[...fieldProblems(error)].map(([field, problem]) => (
          <Text key={field} size="sm">
            {field}: {problem}
          </Text>
        ))}
        {retry && (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
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
      <Empty title="This requires the role admin">{children}</Empty>
    </Page>
  );
}

/** A table that scrolls by itself on a phone, so that the page does not. */
export function Table({ label, head, children }: { label: string; head: string[]; children: ReactNode }) {
  return (
    <div className="table-scroll" role="region" aria-label={label} tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
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
  return <span className={`pill pill-${kind}`}>{children ?? kind.replaceAll('_', ' ')}</span>;
}

/** A relative time, with the exact time beside it. */
export function When({ at }: { at: string | null }) {
  useBeat(5_000);
  if (at === null) return <>–</>;
  return (
    <time dateTime={at} title={at}>
      {relative(at, Date.now())}
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

export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div className="code">
      <pre tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <Copy text={text} label={`Copy ${label}`} />
    </div>
  );
}

export function Copy({ text, label }: { text: string; label: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <ActionIcon variant="default" className="copy" aria-label={label} onClick={copy}>
          <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" className="icon">
            {copied ? <path d="m3 8.5 3.5 3.5L13 4.5" /> : <path d="M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z" />}
          </svg>
        </ActionIcon>
      )}
    </CopyButton>
  );
}

export function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

export function TextLink(props: LinkProps) {
  return <Link className="link" {...props} />;
}

export function LinkButton({ to, children, primary }: { to: string; children: ReactNode; primary?: boolean }) {
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
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <Stack>
          {props.children}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setOpen(false)}>
              Cancel
            </Button>
            <Button
              {...color}
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
