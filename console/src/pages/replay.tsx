import { Alert, Button, Group, Progress, Stack, Text } from '@mantine/core';
import { useParams } from 'react-router';
import { type Replay } from '../../../shared/api/operations';
import { useChange, useNames, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { count, stateInWords } from '../lib/labels';
import { deliveriesLink } from '../replay/deliveries-link';
import { isOver } from '../replay/new-replay';
import { Failure, Page, Pill, TextLink, Unread, When } from '../ui/ui';
import { text } from '../texts';

const words = text.watch.replay;

const WITHIN = { name: text.watch.replays.replays, to: '/replays' };

/** One replay and its progress. */
export function ReplayPage() {
  const { id = '' } = useParams();
  const read = useRead(
    'GET /replays/{id}',
    { id },
    { every: (last) => (last ? nextLook(last) : 1_000) },
  );
  return (
    <Page title={read.data ? words.titles[read.data.data.action] : words.replay} within={WITHIN}>
      {read.data && !read.error ? (
        <Loaded replay={read.data.data} />
      ) : (
        <Unread read={read} what={words.theReplay} />
      )}
    </Page>
  );
}

/**
 * Returns when to read the replay again, ms. Results arrive after its end; those of deliveries that
 * wait may take long.
 */
function nextLook(replay: Replay): number | false {
  if (!isOver(replay)) return 1_000;
  const { asked, delivered, failedAgain, superseded, preview } = replay;
  const isComplete =
    preview || delivered === null || delivered + (failedAgain ?? 0) + (superseded ?? 0) >= asked;
  return isComplete ? false : 3_000;
}

function Loaded({ replay }: { replay: Replay }) {
  const names = useNames('destinations', [replay.destination]);
  const percent = Math.round(replay.progress * 100);
  const deliveries = deliveriesLink(replay);
  return (
    <Stack>
      <section className="card" aria-label={words.progress}>
        <div className="row" role="status">
          <Pill kind={replay.status} />
          <strong>
            {replay.cancelled !== null
              ? words.cancelledOf(count(replay.cancelled), count(replay.asked))
              : replay.preview
                ? words.previewOf(count(replay.asked))
                : words.askedOf(count(replay.asked), count(replay.attempted ?? 0))}
          </strong>
          {replay.preview && <span>{words.isPreview}</span>}
        </div>
        <Results replay={replay} />
        <Progress
          value={percent}
          aria-label={replay.pass === 'counting' ? words.counted : words.sentHeading}
          my="sm"
        />
        <Steer replay={replay} />
        {replay.error !== null && <Alert color="red">{replay.error}</Alert>}
      </section>
      <section className="card" aria-label={words.scope}>
        <dl>
          <dt>{words.destination}</dt>
          <dd>
            <TextLink to={`/destinations/${replay.destination}`}>
              {names.get(replay.destination) ?? replay.destination}
            </TextLink>
          </dd>
          <dt>{words.from}</dt>
          <dd>{words.origins[replay.origin]}</dd>
          <dt>{words.statusType}</dt>
          <dd>
            {replay.deliveryStatus === null ? words.any : stateInWords(replay.deliveryStatus)},{' '}
            {replay.type ?? words.any}
            {replay.includeDelivered ? words.includingDelivered : ''}
            {replay.onlyFailedUrls ? words.onlyFailedUrls : ''}
          </dd>
          <dt>{words.accepted}</dt>
          <dd>
            {words.fromTo(
              replay.from === null ? words.sinceStart : <When at={replay.from} exact />,
              <When at={replay.to} exact />,
            )}
          </dd>
          <dt>{words.rateLimit}</dt>
          <dd>{replay.maxPerSecond === null ? words.none : count(replay.maxPerSecond)}</dd>
          <dt>{words.started}</dt>
          <dd>
            <When at={replay.createdAt} />
          </dd>
        </dl>
      </section>
      {deliveries !== undefined && (
        <Text>
          <TextLink to={deliveries}>{words.seeDeliveries}</TextLink>
        </Text>
      )}
    </Stack>
  );
}

function Results({ replay }: { replay: Replay }) {
  const { delivered, failedAgain, held, superseded } = replay;
  if (delivered === null) return null;
  return (
    <>
      <Text>{words.results(count(delivered), count(failedAgain ?? 0))}</Text>
      {held !== null && held > 0 && <Text>{words.held(count(held))}</Text>}
      {superseded !== null && superseded > 0 && <Text>{words.superseded(count(superseded))}</Text>}
    </>
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
          {words.cancel}
        </Button>
      )}
      {action === 'replay' && (status === 'cancelled' || status === 'failed') && (
        <Button loading={resume.isPending} onClick={() => resume.mutate({ id })}>
          {words.resume}
        </Button>
      )}
      {error && <Failure error={error} what={words.changeTask} />}
    </Group>
  );
}
