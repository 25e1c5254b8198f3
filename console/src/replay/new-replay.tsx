import { Alert, Button, Checkbox, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ChangeEvent, useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { type Replay } from '../../../shared/api/operations';
import { useChange, useRead } from '../lib/api';
import { count, stateInWords, TYPES } from '../lib/labels';
import { EntryPicker } from '../ui/entry-picker';
import { Failure } from '../ui/ui';
import { bodyOf, REPLAYABLE, type Scope, scopeFor, scopeProblem, withFailedUrls } from './scope';
import { text } from '../texts';

const words = text.replay.newReplay;

/**
 * A replay begins with a count, so that the user sees how many deliveries it would send before it
 * sends any.
 */
export function NewReplay({ destination }: { destination: string }) {
  const [scope, setScope] = useState(() => scopeFor(destination));
  const navigate = useNavigate();
  const preview = useChange('POST /replays');
  const start = useChange('POST /replays', {
    onDone: ({ data }) => void navigate(`/replays/${data.id}`),
  });
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
      aria-label={words.newReplay}
      onSubmit={(event) => {
        event.preventDefault();
        preview.mutate({ body: bodyOf(scope, true) });
      }}
    >
      <Stack>
        <h2>{words.replayDeliveries}</h2>
        <ScopeFields scope={scope} onChange={change} />
        {problem !== undefined && <Text size="sm">{problem}.</Text>}
        <Button
          type="submit"
          variant="default"
          className="start"
          loading={preview.isPending}
          disabled={problem !== undefined}
        >
          {words.preview}
        </Button>
        {preview.error && <Failure error={preview.error} what={words.countTask} />}
        {counted && (
          <Preview
            id={counted.id}
            busy={start.isPending}
            onStart={() => start.mutate({ body: bodyOf(scope, false) })}
          />
        )}
        {start.error && <Failure error={start.error} what={words.startTask} />}
      </Stack>
    </form>
  );
}

function Preview({ id, busy, onStart }: { id: string; busy: boolean; onStart: () => void }) {
  const read = useRead(
    'GET /replays/{id}',
    { id },
    { every: (last) => (last && isOver(last) ? false : 400) },
  );
  const replay = read.data?.data;
  const over = replay !== undefined && isOver(replay);
  const queries = useQueryClient();
  useEffect(() => {
    // The list below shows the replay too.
    if (over) void queries.invalidateQueries({ queryKey: ['GET /replays'] });
  }, [over, queries]);
  if (!replay || !isOver(replay)) {
    return <Text role="status">{words.counting(replay ? count(replay.asked) : '')}</Text>;
  }
  if (replay.status === 'failed') {
    return <Alert color="red">{replay.error ?? words.countingFailed}</Alert>;
  }
  return (
    <Alert color="blue" role="status" title={words.wouldBeSent(replay.asked)}>
      {replay.asked > 0 && (
        <Button loading={busy} onClick={onStart}>
          {words.replay(count(replay.asked))}
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

const ORIGINS = [
  { value: 'dead_letters', label: words.fromDeadLetters },
  { value: 'messages', label: words.fromMessages },
];

function ScopeFields(props: FieldsProps) {
  const { scope, onChange } = props;
  return (
    <>
      <Choices {...props} />
      <Limits {...props} />
      <Checkbox
        label={words.includeDelivered}
        checked={scope.includeDelivered}
        onChange={(event) => onChange({ ...scope, includeDelivered: event.target.checked })}
      />
      <Checkbox
        label={words.onlyFailedUrls}
        description={words.onlyFailedUrlsHint}
        checked={scope.onlyFailedUrls}
        onChange={(event) => onChange(withFailedUrls(scope, event.target.checked))}
      />
    </>
  );
}

function Choices({ scope, onChange }: FieldsProps) {
  const any = (options: readonly string[]) => [
    { value: '', label: words.any },
    ...options.map((value) => ({ value, label: stateInWords(value) })),
  ];
  const field = (key: 'origin' | 'status' | 'type') => ({
    value: scope[key],
    onChange: (event: ChangeEvent<HTMLSelectElement>) =>
      onChange({ ...scope, [key]: event.target.value }),
  });
  return (
    <div className="filters">
      <EntryPicker
        kind="destinations"
        label={words.destination}
        placeholder={words.chooseOne}
        value={scope.destination}
        onChange={(destination) => onChange({ ...scope, destination })}
      />
      <NativeSelect label={words.from} data={ORIGINS} {...field('origin')} />
      <NativeSelect label={words.status} data={any(REPLAYABLE)} {...field('status')} />
      <NativeSelect label={words.type} data={any(TYPES)} {...field('type')} />
    </div>
  );
}

function Limits({ scope, onChange }: FieldsProps) {
  const field = (key: 'from' | 'to' | 'maxPerSecond') => ({
    value: scope[key],
    onChange: (event: ChangeEvent<HTMLInputElement>) =>
      onChange({ ...scope, [key]: event.target.value }),
  });
  return (
    <div className="filters">
      <TextInput type="datetime-local" label={words.acceptedFrom} {...field('from')} />
      <TextInput type="datetime-local" label={words.acceptedBefore} {...field('to')} />
      <TextInput inputMode="decimal" label={words.rateLimit} {...field('maxPerSecond')} />
    </div>
  );
}
