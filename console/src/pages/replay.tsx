import { Alert, Button, Group, Progress, Stack, Text } from '@mantine/core';
import { useParams } from 'react-router';
import { type Replay } from '../../../shared/api/operations';
import { useChange, useNames, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { count } from '../lib/labels';
import { isOver } from '../replay/new-replay';
import { Failure, Page, Pill, TextLink, Unread, When } from '../ui/ui';

/** One replay and its progress. */
export function ReplayPage() {
  const { id = '' } = useParams();
  const read = useRead('GET /replays/{id}', { id }, { every: (last) => (last ? nextLook(last) : 1_000) });
  return (
    <Page title={read.data ? TITLES[read.data.data.action] : 'Replay'}>
      {read.data && !read.error ? <Loaded replay={read.data.data} /> : <Unread read={read} what="replay" />}
    </Page>
  );
}

/** Returns when to read the replay again, ms. Results arrive after its end; those of deliveries that wait may take long. */
function nextLook(replay: Replay): number | false {
  if (!isOver(replay)) return 1_000;
  const { sent, delivered, failedAgain, preview } = replay;
  const isComplete = preview || delivered === null || delivered + (failedAgain ?? 0) >= sent;
  return isComplete ? false : 3_000;
}

const ORIGINS = {
  dead_letters: 'failed deliveries (dead letters)',
  messages: 'all messages',
  waiting: 'waiting deliveries',
} as const;
const TITLES = { replay: 'Replay', retry: 'Retry of all', cancel: 'Cancellation of all' } as const;

function Loaded({ replay }: { replay: Replay }) {
  const names = useNames('destinations');
  const percent = Math.round(replay.progress * 100);
  return (
    <Stack>
      <section className="card" aria-label="Progress">
        <div className="row" role="status">
          <Pill kind={replay.status} />
          <strong>
            {count(replay.sent)} of {count(replay.matched)} {replay.action === 'cancel' ? 'cancelled' : 'sent'}
          </strong>
          {replay.preview && <span>(preview, nothing is sent)</span>}
        </div>
        {replay.delivered !== null && (
          <Text>
            {count(replay.delivered)} delivered, {count(replay.failedAgain ?? 0)} failed again
          </Text>
        )}
        <Progress value={percent} aria-label={replay.pass === 'counting' ? 'Counted' : 'Sent'} my="sm" />
        <Steer replay={replay} />
        {replay.error !== null && <Alert color="red">{replay.error}</Alert>}
      </section>
      <section className="card" aria-label="Scope">
        <dl>
          <dt>Destination</dt>
          <dd>
            <TextLink to={`/destinations/${replay.destination}`}>
              {names.get(replay.destination) ?? replay.destination}
            </TextLink>
          </dd>
          <dt>From</dt>
          <dd>{ORIGINS[replay.origin]}</dd>
          <dt>Status, type</dt>
          <dd>
            {replay.deliveryStatus ?? 'any'}, {replay.type ?? 'any'}
            {replay.includeDelivered ? ', including delivered ones' : ''}
          </dd>
          <dt>Accepted</dt>
          <dd>
            {replay.from === null ? 'since the start of the history' : <When at={replay.from} exact />} to{' '}
            <When at={replay.to} exact />
          </dd>
          <dt>Rate limit per second</dt>
          <dd>{replay.maxPerSecond === null ? 'none' : count(replay.maxPerSecond)}</dd>
          <dt>Started</dt>
          <dd>
            <When at={replay.createdAt} />
          </dd>
        </dl>
      </section>
      <Text>
        <TextLink to={`/deliveries?destination=${replay.destination}`}>See the deliveries</TextLink>
      </Text>
    </Stack>
  );
}

function Steer({ replay }: { replay: Replay }) {
  const operator = useMay('POST /replays/{id}/cancel');
  const cancel = useChange('POST /replays/{id}/cancel');
  const resume = useChange('POST /replays/{id}/resume');
  if (!operator) return null;
  const { id, status, action } = replay;
  const error = cancel.error ?? resume.error;
  return (
    <Group>
      {!isOver(replay) && (
        <Button variant="default" loading={cancel.isPending} onClick={() => cancel.mutate({ id })}>
          Cancel
        </Button>
      )}
      {action === 'replay' && (status === 'cancelled' || status === 'failed') && (
        <Button loading={resume.isPending} onClick={() => resume.mutate({ id })}>
          Resume
        </Button>
      )}
      {error && <Failure error={error} what="change the replay" />}
    </Group>
  );
}
