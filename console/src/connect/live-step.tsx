import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useSearchParams } from 'react-router';
import { type Destination } from '../../../shared/api/operations';
import { DESTINATION_LABELS } from '../destination/conflict';
import { requestInWords } from '../destination/request-section';
import { type Read, Unsaved, useSaveDestination } from '../destination/save';
import { useEntries, useRead } from '../lib/api';
import { LinkButton, Section, TextLink } from '../ui/ui';
import { FirstEvent } from './first-event';
import { type Stored } from './stored-step';
import { testedOf } from './steps';
import { text } from '../texts';

const words = text.connect.liveStep;

/** Step 4: says what will be sent, switches it on, and shows the first event arrive. */
export function LiveStep(stored: Stored) {
  // Enables the version that was shown: if it has changed since, the step shows the change first.
  const [begun, setBegun] = useState(stored);
  const { destination } = stored.destination.enabled ? stored : begun;
  return (
    <Stack>
      <Summary destination={destination} />
      {destination.enabled ? (
        <FirstEvent destination={destination} />
      ) : (
        <Switch {...begun} onRead={setBegun} />
      )}
    </Stack>
  );
}

/** The settings that say what the endpoint gets, and from where. */
function Summary({ destination }: { destination: Destination }) {
  const { id, sources, types, filter, webhooks, request, hasSharedSecret } = destination;
  const names = useEntries('sources', sources);
  const from = sources.map((source) => names.get(source)?.name ?? source).join(', ');
  return (
    <Section title={words.whatIsSent}>
      <dl className="facts">
        <div>
          <dt>{words.from}</dt>
          <dd>
            <bdi>{from === '' ? words.noSource : from}</bdi>
          </dd>
        </div>
        <div>
          <dt>{words.events}</dt>
          <dd>
            {types === null ? words.everyEvent : types.join(', ')}
            {filter !== null && (
              <>
                {' '}
                {words.thatMatch} <code className="break">{filter}</code>
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>{words.to}</dt>
          <dd className="break">
            <bdi>{webhooks.map(({ url }) => url ?? text.destination.unreadableUrl).join(', ')}</bdi>
          </dd>
        </div>
        <div>
          <dt>{words.as}</dt>
          <dd>
            {requestInWords(request)}, {hasSharedSecret ? words.signed : words.unsigned}
          </dd>
        </div>
      </dl>
      <Text size="sm" className="below">
        {words.changeUnder(
          <TextLink to={`/destinations/${id}/settings`}>{words.settings}</TextLink>,
        )}
      </Text>
    </Section>
  );
}

/** Enables the destination, so that Waypost sends or holds real events. */
function Switch({ destination, etag, onRead }: Stored & { onRead: (stored: Stored) => void }) {
  const [paused, setPaused] = useState(false);
  const [search] = useSearchParams();
  const tested = testedOf(search.get('test'));
  const about = useRead('GET /about', {});
  const window = destination.retry?.window ?? about.data?.data.retry.window;
  const read = ({ data, etag: tag = '' }: Read) => onRead({ destination: data, etag: tag });
  const save = useSaveDestination(destination.id, read);
  const set = (hold: boolean) => {
    setPaused(hold);
    save.send({ enabled: true, paused: hold }, etag);
  };
  return (
    <Section title={words.switchOn}>
      <Stack>
        {tested !== 'passed' && (
          <Alert color="yellow" title={tested === 'failed' ? words.testFailed : words.notTested}>
            <Text size="sm">{words.untestedHint(window)}</Text>
          </Alert>
        )}
        <Text size="sm">{words.hint(window)}</Text>
        <Group>
          <Button loading={save.busy && !paused} onClick={() => set(false)}>
            {words.enable}
          </Button>
          <Button variant="default" loading={save.busy && paused} onClick={() => set(true)}>
            {words.enablePaused}
          </Button>
          <LinkButton to={`/destinations/${destination.id}`}>{words.keepDisabled}</LinkButton>
        </Group>
        <Unsaved
          saving={save}
          names={DESTINATION_LABELS}
          before={destination}
          patch={{ enabled: true, paused }}
          what={words.enableTask}
          onDrop={read}
        />
      </Stack>
    </Section>
  );
}
