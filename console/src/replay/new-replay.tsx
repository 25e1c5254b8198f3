import { Alert, Button, Checkbox, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ChangeEvent, useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { type Replay } from '../../../shared/api/operations';
import { DELIVERY_STATUSES, isUnderWay } from '../../../shared/model/reasons';
import { useChange, useNames, useRead } from '../lib/api';
import { count, TYPES } from '../lib/labels';
import { Failure } from '../ui/ui';
import { bodyOf, type Scope, scopeFor, scopeProblem } from './scope';

/** A replay begins with a count, so that the user sees how many deliveries it would send before it sends any. */
export function NewReplay({ destination }: { destination: string }) {
  const [scope, setScope] = useState(() => scopeFor(destination));
  const navigate = useNavigate();
  const preview = useChange('POST /replays');
  const start = useChange('POST /replays', { onDone: ({ data }) => void navigate(`/replays/${data.id}`) });
  const problem = scopeProblem(scope);
  const change = (next: Scope) => {
    setScope(next);
    // The count belongs to another scope.
    preview.reset();
  };
  const counted = preview.data?.data;
  return (
    <form
      className="card"
      aria-label="New replay"
      onSubmit={(event) => {
        event.preventDefault();
        preview.mutate({ body: bodyOf(scope, true) });
      }}
    >
      <Stack>
        <h2>Replay deliveries</h2>
        <ScopeFields scope={scope} onChange={change} />
        {problem !== undefined && <Text size="sm">{problem}.</Text>}
        <Button
          type="submit"
          variant="default"
          className="start"
          loading={preview.isPending}
          disabled={problem !== undefined}
        >
          Preview
        </Button>
        {preview.error && <Failure error={preview.error} what="count the deliveries" />}
        {counted && (
          <Preview
            id={counted.id}
            busy={start.isPending}
            onStart={() => start.mutate({ body: bodyOf(scope, false) })}
          />
        )}
        {start.error && <Failure error={start.error} what="start the replay" />}
      </Stack>
    </form>
  );
}

function Preview({ id, busy, onStart }: { id: string; busy: boolean; onStart: () => void }) {
  const read = useRead('GET /replays/{id}', { id }, { every: (last) => (last && isOver(last) ? false : 400) });
  const replay = read.data?.data;
  const over = replay !== undefined && isOver(replay);
  const queries = useQueryClient();
  useEffect(() => {
    // The list below shows the replay too.
    if (over) void queries.invalidateQueries({ queryKey: ['GET /replays'] });
  }, [over, queries]);
  if (!replay || !isOver(replay)) return <Text role="status">Counting … {replay ? count(replay.matched) : ''}</Text>;
  if (replay.status === 'failed') return <Alert color="red">{replay.error ?? 'Counting failed'}</Alert>;
  return (
    <Alert
      color="blue"
      role="status"
      title={`${count(replay.matched)} ${replay.matched === 1 ? 'delivery' : 'deliveries'} would be sent`}
    >
      {replay.matched > 0 && (
        <Button loading={busy} onClick={onStart}>
          Replay {count(replay.matched)}
        </Button>
      )}
    </Alert>
  );
}

export function isOver({ status }: Pick<Replay, 'status'>): boolean {
  return status === 'done' || status === 'cancelled' || status === 'failed';
}

interface FieldsProps {
  scope: Scope;
  onChange: (scope: Scope) => void;
}

/** Waypost does not replay a delivery that is in progress. */
const REPLAYABLE = DELIVERY_STATUSES.filter((status) => !isUnderWay(status));

const ORIGINS = [
  { value: 'dead_letters', label: 'failed deliveries (dead letters)' },
  { value: 'messages', label: 'all messages of the last 7 days, also from before the destination existed' },
];

function ScopeFields(props: FieldsProps) {
  const { scope, onChange } = props;
  return (
    <>
      <Choices {...props} />
      <Limits {...props} />
      <Checkbox
        label="Include delivered"
        checked={scope.includeDelivered}
        onChange={(event) => onChange({ ...scope, includeDelivered: event.target.checked })}
      />
    </>
  );
}

function Choices({ scope, onChange }: FieldsProps) {
  const names = useNames('destinations');
  const data = [{ value: '', label: 'choose one' }, ...[...names].map(([value, label]) => ({ value, label }))];
  const any = (options: readonly string[]) => [{ value: '', label: 'any' }, ...options];
  const field = (key: 'destination' | 'origin' | 'status' | 'type') => ({
    value: scope[key],
    onChange: (event: ChangeEvent<HTMLSelectElement>) => onChange({ ...scope, [key]: event.target.value }),
  });
  return (
    <Group align="flex-end">
      <NativeSelect label="Destination" data={data} {...field('destination')} />
      <NativeSelect label="From" data={ORIGINS} {...field('origin')} />
      <NativeSelect label="Status" data={any(REPLAYABLE)} {...field('status')} />
      <NativeSelect label="Type" data={any(TYPES)} {...field('type')} />
    </Group>
  );
}

function Limits({ scope, onChange }: FieldsProps) {
  const field = (key: 'from' | 'to' | 'maxPerSecond') => ({
    value: scope[key],
    onChange: (event: ChangeEvent<HTMLInputElement>) => onChange({ ...scope, [key]: event.target.value }),
  });
  return (
    <Group align="flex-end">
      <TextInput type="datetime-local" label="Accepted from" {...field('from')} />
      <TextInput type="datetime-local" label="Accepted before" {...field('to')} />
      <TextInput inputMode="decimal" label="Rate limit per second" {...field('maxPerSecond')} />
    </Group>
  );
}
