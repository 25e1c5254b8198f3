import { Alert, Button, Checkbox, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { type Replay } from '../../../shared/api/operations';
import { useChange, useNames, useRead } from '../lib/api';
import { count, STATUSES, TYPES } from '../lib/words';
import { Failure } from '../ui/ui';
import { bodyOf, type Scope, scopeFor, scopeProblem } from './scope';

/** A replay begins with a count: what would be sent is seen before anything is. */
export function NewReplay({ destination }: { destination: string }) {
  const [scope, setScope] = useState(() => scopeFor(destination));
  const navigate = useNavigate();
  const preview = useChange('POST /replays');
  const start = useChange('POST /replays', { onDone: ({ data }) => void navigate(`/replays/${data.id}`) });
  const problem = scopeProblem(scope);
  const change = (next: Scope) => {
    setScope(next);
    // What was counted was another scope.
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
        <strong>Send a scope once more</strong>
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
        {preview.error && <Failure error={preview.error} what="the preview" />}
        {counted && (
          <Preview
            id={counted.id}
            busy={start.isPending}
            onStart={() => start.mutate({ body: bodyOf(scope, false) })}
          />
        )}
        {start.error && <Failure error={start.error} what="the replay" />}
      </Stack>
    </form>
  );
}

function Preview({ id, busy, onStart }: { id: string; busy: boolean; onStart: () => void }) {
  const read = useRead('GET /replays/{id}', { id }, { every: (last) => (last && isOver(last) ? false : 400) });
  const replay = read.data?.data;
  if (!replay || !isOver(replay)) return <Text role="status">Counting … {replay ? count(replay.matched) : ''}</Text>;
  if (replay.status === 'failed') return <Alert color="red">{replay.error ?? 'It could not be counted'}</Alert>;
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

function ScopeFields({ scope, onChange }: { scope: Scope; onChange: (scope: Scope) => void }) {
  const names = useNames('destinations');
  const data = [{ value: '', label: 'choose one' }, ...[...names].map(([value, label]) => ({ value, label }))];
  const any = (options: readonly string[]) => [{ value: '', label: 'any' }, ...options];
  const origins = [
    { value: 'dead_letters', label: 'dead letters: what was given up' },
    { value: 'messages', label: 'all messages of the last 7 days, also those before it was there' },
  ];
  return (
    <>
      <Group align="flex-end">
        <NativeSelect
          label="Destination"
          data={data}
          value={scope.destination}
          onChange={(e) => onChange({ ...scope, destination: e.target.value })}
        />
        <NativeSelect
          label="Out of"
          data={origins}
          value={scope.origin}
          onChange={(e) => onChange({ ...scope, origin: e.target.value as Scope['origin'] })}
        />
        <NativeSelect
          label="Status"
          data={any(STATUSES)}
          value={scope.status}
          onChange={(e) => onChange({ ...scope, status: e.target.value })}
        />
        <NativeSelect
          label="Type"
          data={any(TYPES)}
          value={scope.type}
          onChange={(e) => onChange({ ...scope, type: e.target.value })}
        />
      </Group>
      <Group align="flex-end">
        <TextInput
          type="datetime-local"
          label="Accepted from"
          value={scope.from}
          onChange={(e) => onChange({ ...scope, from: e.target.value })}
        />
        <TextInput
          type="datetime-local"
          label="Accepted before"
          value={scope.to}
          onChange={(e) => onChange({ ...scope, to: e.target.value })}
        />
        <TextInput
          inputMode="decimal"
          label="At most a second"
          value={scope.maxPerSecond}
          onChange={(e) => onChange({ ...scope, maxPerSecond: e.target.value })}
        />
      </Group>
      <Checkbox
        label="Also what was delivered already"
        checked={scope.includeDelivered}
        onChange={(e) => onChange({ ...scope, includeDelivered: e.target.checked })}
      />
    </>
  );
}
