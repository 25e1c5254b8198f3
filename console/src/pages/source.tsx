import { Stack, Text } from '@mantine/core';
import { useParams } from 'react-router';
import { type Source } from '../../../shared/api/operations';
import { compact } from '../../../shared/collections/defined';
import { useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { useTelling } from '../lib/sources';
import { CallStream } from '../source/call-stream';
import { Actions, Standing } from '../source/header';
import { SourceLimits } from '../source/limits';
import { SourceOverview } from '../source/overview';
import { SendTo } from '../source/send-first';
import { WriteKey } from '../source/write-key';
import { Snippets } from '../ui/snippets';
import { Tabs } from '../ui/tabs';
import { Page, Section, TextLink, Unread } from '../ui/ui';
import { Changes } from './audit';
import { text } from '../texts';

const words = text.setup.source;

const WITHIN = { name: text.setup.sources.sources, to: '/sources' };

interface Props {
  source: Source;
  etag: string;
}

/** One source in tabs, under a header with its state, its key and what can be done about it. */
export function SourcePage() {
  const { id = '' } = useParams();
  const read = useRead('GET /sources/{id}', { id });
  const told = useTelling().get(id);
  if (!read.data || read.error) {
    return (
      <Page title={words.source} within={WITHIN}>
        <Unread read={read} what={words.theSource} />
      </Page>
    );
  }
  const { data: source, etag = '' } = read.data;
  if (told) {
    return (
      <Page title={source.name} within={WITHIN}>
        <Text>{words.ofAudience(<TextLink to={told.to}>{told.name}</TextLink>)}</Text>
      </Page>
    );
  }
  return <Loaded key={id} source={source} etag={etag} />;
}

const LOOK_AGAIN_MS = 10_000;

/** Reads what the source sends; undefined: not known yet, or the history is away. */
function useActivity(id: string) {
  const query = {
    ids: id,
    activity: 'true',
  } as const;
  const read = useRead('GET /sources', { query }, { every: LOOK_AGAIN_MS, keep: true });
  return read.data?.data.data.find((source) => source.id === id)?.activity;
}

function Loaded({ source, etag }: Props) {
  const { tab = '' } = useParams();
  const { id, writeKey } = source;
  const activity = useActivity(id);
  return (
    <Page
      title={source.name}
      within={WITHIN}
      state={<Standing source={source} />}
      actions={<Actions source={source} etag={etag} activity={activity} />}
      tabs={<Parts id={id} />}
    >
      {tab === '' && <SourceOverview source={source} etag={etag} activity={activity} />}
      {tab === 'calls' && <CallStream source={id} first={<SendTo source={source} />} />}
      {tab === 'code' &&
        (writeKey === null ? (
          <Text size="sm">{words.codeHidden}</Text>
        ) : (
          <Section title={words.sendCalls}>
            <Snippets source={source} writeKey={writeKey} />
          </Section>
        ))}
      {tab === 'settings' && (
        <Stack>
          <SourceLimits source={source} etag={etag} />
          <WriteKey source={source} etag={etag} />
        </Stack>
      )}
      {tab === 'changes' && <Changes entry={id} />}
    </Page>
  );
}

function Parts({ id }: { id: string }) {
  const admin = useMay('GET /audit');
  const maySee = useMay('GET /events');
  const page = `/sources/${id}`;
  const tabs = compact([
    { to: page, name: words.overview },
    maySee ? { to: `${page}/calls`, name: words.calls } : undefined,
    { to: `${page}/code`, name: words.code },
    { to: `${page}/settings`, name: words.settings },
    admin ? { to: `${page}/changes`, name: words.changes } : undefined,
  ]);
  return <Tabs label={words.parts} tabs={tabs} />;
}
