import {
  Alert,
  Button,
  Checkbox,
  Group,
  NativeSelect,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ChangeEvent, type ReactNode, useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { type Replay } from '../../../shared/api/operations';
import { useChange, useRead } from '../lib/api';
import { count, stateInWords, TYPES } from '../lib/labels';
import { EntryPicker } from '../ui/entry-picker';
import { Failure } from '../ui/ui';
import {
  previewOf,
  rateProblem,
  REPLAYABLE,
  replayOf,
  type Scope,
  scopeFor,
  scopeProblem,
  USUAL_RATE,
  withFailedUrls,
} from './scope';
import { text } from '../texts';

const words = text.replay.newReplay;

/**
 * A replay in three steps: what it sends, how many deliveries that is, and how fast they go.
 * Nothing is sent before it is counted.
 */
export function NewReplay({ destination }: { destination: string }) {
  const [scope, setScope] = useState(() => scopeFor(destination));
  const preview = useChange('POST /replays');
  const problem = scopeProblem(scope);
  const change = (next: Scope) => {
    setScope(next);
    // The count belongs to another scope.
    preview.reset();
  };
  const counted = useCount(preview.data?.data.id);
  return (
    <form
      className="card"
      aria-label={words.newReplay}
      onSubmit={(event) => {
        event.preventDefault();
        preview.mutate({ body: previewOf(scope) });
      }}
    >
      <h2>{words.replayDeliveries}</h2>
      <ol className="numbered">
        <Numbered nth={1} title={words.choose}>
          <ScopeFields scope={scope} onChange={change} />
        </Numbered>
        <Numbered nth={2} title={words.countThem}>
          {problem !== undefined && <Text size="sm">{problem}.</Text>}
          <Group>
            <Button
              type="submit"
              variant="default"
              loading={preview.isPending}
              disabled={problem !== undefined}
            >
              {words.preview}
            </Button>
            {preview.data && <Counted replay={counted} />}
          </Group>
          {preview.error && <Failure error={preview.error} what={words.countTask} />}
        </Numbered>
        <Numbered nth={3} title={words.sendThem}>
          <Send scope={scope} asked={counted?.status === 'done' ? counted.asked : 0} />
        </Numbered>
      </ol>
    </form>
  );
}

interface NumberedProps {
  nth: number;
  title: string;
  children: ReactNode;
}

function Numbered({ nth, title, children }: NumberedProps) {
  return (
    <li>
      <h3>
        <span className="step-mark" aria-hidden="true">
          {nth}
        </span>
        {title}
      </h3>
      <Stack gap="sm">{children}</Stack>
    </li>
  );
}

/** Follows the replay that only counts. @returns undefined: there is none, or it is not read yet */
function useCount(id: string | undefined): Replay | undefined {
  const read = useRead(
    'GET /replays/{id}',
    { id: id ?? '' },
    { enabled: id !== undefined, every: (last) => (last && isOver(last) ? false : 400) },
  );
  const replay = id === undefined ? undefined : read.data?.data;
  const over = replay !== undefined && isOver(replay);
  const queries = useQueryClient();
  useEffect(() => {
    // The list below shows the replay too.
    if (over) void queries.invalidateQueries({ queryKey: ['GET /replays'] });
  }, [over, queries]);
  return replay;
}

function Counted({ replay }: { replay: Replay | undefined }) {
  if (!replay || !isOver(replay)) {
    return <Text role="status">{words.counting(replay ? count(replay.asked) : '')}</Text>;
  }
  if (replay.status === 'failed') {
    return <Alert color="red">{replay.error ?? words.countingFailed}</Alert>;
  }
  return <Text role="status">{words.wouldBeSent(replay.asked)}</Text>;
}

interface SendProps {
  scope: Scope;
  /** how many deliveries were counted; 0: nothing to send, or not counted yet */
  asked: number;
}

function Send({ scope, asked }: SendProps) {
  const [rate, setRate] = useState(USUAL_RATE);
  const navigate = useNavigate();
  const start = useChange('POST /replays', {
    onDone: ({ data }) => void navigate(`/replays/${data.id}`),
  });
  const problem = rateProblem(rate);
  return (
    <>
      <div className="filters">
        <TextInput
          inputMode="decimal"
          label={words.rateLimit}
          value={rate}
          error={problem}
          onChange={(event) => setRate(event.target.value)}
        />
      </div>
      <Button
        className="start"
        loading={start.isPending}
        disabled={asked === 0 || problem !== undefined}
        onClick={() => start.mutate({ body: replayOf(scope, rate) })}
      >
        {asked === 0 ? words.replay : words.replayCounted(count(asked))}
      </Button>
      {start.error && <Failure error={start.error} what={words.startTask} />}
    </>
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
      <div className="filters">
        <Choices {...props} />
        <Times {...props} />
      </div>
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
    <>
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
    </>
  );
}

function Times({ scope, onChange }: FieldsProps) {
  const field = (key: 'from' | 'to') => ({
    value: scope[key],
    onChange: (event: ChangeEvent<HTMLInputElement>) =>
      onChange({ ...scope, [key]: event.target.value }),
  });
  return (
    <>
      <TextInput type="datetime-local" label={words.acceptedFrom} {...field('from')} />
      <TextInput type="datetime-local" label={words.acceptedBefore} {...field('to')} />
    </>
  );
}
