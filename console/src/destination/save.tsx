import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { type Destination } from '../../../shared/api/operations';
import { call, type EntryKind, useChange, useNames } from '../lib/api';
import { isStale } from '../lib/problems';
import { Failure, Table } from '../ui/ui';
import { useUnsaved } from '../ui/unsaved';
import { type Difference, differences, type FieldNames } from './conflict';
import { type Patch } from './draft';
import { text } from '../texts';

const words = text.destination.save;

/**
 * Saves an entry that others may change too. If somebody else changed it first, the page shows
 * their change and overwrites nothing unseen.
 */

export type Read<T = Destination> = { data: T; etag: string | undefined };

/**
 * Keeps the version that a form began with, so that changes by others appear as a conflict, never
 * silently.
 */
export function useBegun<T extends { version: number }>({ data, etag = '' }: Read<T>) {
  const [begun, setBegun] = useState({ data, etag, times: 0 });
  return {
    begun,
    /** Begins anew, with what was saved or with the version of others. */
    restart: ({ data, etag = '' }: Read<T>) =>
      setBegun(({ times }) => ({ data, etag, times: times + 1 })),
    /** Takes over a change that the page makes beside the form, which keeps its edits. */
    beside: ({ data, etag = '' }: Read<T>) =>
      setBegun((before) =>
        data.version === before.data.version + 1 ? { ...before, data, etag } : before,
      ),
  };
}

export interface Saving<T, P> {
  error: Error | null;
  busy: boolean;
  /** the current version, if somebody else saved first */
  theirs: Read<T> | undefined;
  send: (patch: P, ifMatch: string) => void;
  forget: () => void;
}

/** A change to the version that the page has read. */
interface Change<P> {
  error: Error | null;
  isPending: boolean;
  mutate: (input: { body: P; ifMatch: string }, on: { onError: (error: Error) => void }) => void;
  reset: () => void;
}

/** Saves, or reads the other user's version if they saved first. */
export function useSaving<T, P>(change: Change<P>, read: () => Promise<Read<T>>): Saving<T, P> {
  const [theirs, setTheirs] = useState<Read<T>>();
  return {
    error: change.error,
    busy: change.isPending,
    theirs,
    send: (body, ifMatch) => {
      const onError = (error: Error) => {
        if (isStale(error)) void read().then(setTheirs, () => undefined);
      };
      change.mutate({ body, ifMatch }, { onError });
    },
    forget: () => {
      setTheirs(undefined);
      change.reset();
    },
  };
}

export function useSaveDestination(
  id: string,
  onSaved: (response: Read) => void,
): Saving<Destination, Patch> {
  const change = useChange('PATCH /destinations/{id}', { onDone: onSaved });
  return useSaving({ ...change, mutate: (input, on) => change.mutate({ ...input, id }, on) }, () =>
    call('GET /destinations/{id}', { id }),
  );
}

interface Props<T, P> {
  saving: Saving<T, P>;
  names: FieldNames;
  /** the version that this page had read */
  before: T;
  patch: P;
  /** name of the entry */
  what: string;
  onDrop: (theirs: Read<T>) => void;
}

/** Says why saving failed, shows both versions, and lets the user choose. */
export function Unsaved<T extends object, P extends object>({ saving, ...props }: Props<T, P>) {
  const { error, theirs } = saving;
  if (error && !isStale(error)) return <Failure error={error} what={props.what} />;
  if (!theirs) return null;
  const { before, patch, names } = props;
  const found = differences(names, { before, theirs: theirs.data, patch });
  const both = found.some(
    ({ mine, before: was, theirs: now }) => mine !== undefined && was !== now,
  );
  const drop = () => {
    saving.forget();
    props.onDrop(theirs);
  };
  return (
    <Alert color="yellow" title={words.conflict} role="alert">
      <Stack>
        <Text size="sm">{words.conflictHint}</Text>
        <Table
          label={words.changes}
          head={[words.field, words.before, words.nowTheirs, words.yours]}
        >
          {found.map((difference) => (
            <Row key={difference.field} of={difference} />
          ))}
        </Table>
        <Group>
          <Button loading={saving.busy} onClick={() => saving.send(patch, theirs.etag ?? '')}>
            {both ? words.keepMine : words.keepBoth}
          </Button>
          <Button variant="default" onClick={drop}>
            {words.discardMine}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}

interface SaveProps {
  busy: boolean;
  changed: boolean;
  /** the first reason against saving */
  problem?: string | undefined;
}

/**
 * The submit button of a form, with the reason if it is disabled. It warns before a navigation
 * loses the changes.
 */
export function SaveButton({ busy, changed, problem }: SaveProps) {
  useUnsaved(changed);
  return (
    <Group>
      <Button type="submit" loading={busy} disabled={!changed || problem !== undefined}>
        {words.save}
      </Button>
      <Text size="sm">{changed ? (problem ?? words.unsavedChanges) : words.noUnsavedChanges}</Text>
    </Group>
  );
}

function Row({ of: { field, name, before, theirs, mine } }: { of: Difference }) {
  const named = useNamed(field, [before, theirs, mine ?? '']);
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className="break">{named(before)}</td>
      <td className="break">{named(theirs)}</td>
      <td className="break">{mine === undefined ? words.unchanged : named(mine)}</td>
    </tr>
  );
}

/** The fields that hold ids of entries. */
const KINDS: Readonly<Record<string, EntryKind>> = {
  source: 'sources',
  sources: 'sources',
  destinations: 'destinations',
};

/**
 * Returns a function that puts the names of entries in place of the ids in these values of a field.
 */
export function useNamed(field: string, values: readonly string[]): (value: string) => string {
  const kind = KINDS[field];
  const parts = values.flatMap((value) => value.split(', '));
  const names = useNames(kind ?? 'sources', kind ? parts.filter(isId) : []);
  return (value) =>
    value
      .split(', ')
      .map((part) => names.get(part) ?? part)
      .join(', ');
}

function isId(text: string): boolean {
  return /^(src|dst)_/.test(text);
}
