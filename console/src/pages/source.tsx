import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { type Source } from '../../../shared/api/operations';
import { useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { useTelling } from '../lib/sources';
import { Deletion } from '../ui/deletion';
import { Copy } from '../ui/code';
import { Confirmed, Failure, LinkButton, Page, Pill, Section, TextLink, Unread, When } from '../ui/ui';
import { SourceEvents } from '../source/events';
import { SourceLimits } from '../source/limits';
import { Snippets } from '../ui/snippets';

interface Props {
  source: Source;
  etag: string;
}

/** One source: its key, and code that sends with it. */
export function SourcePage() {
  const { id = '' } = useParams();
  const read = useRead('GET /sources/{id}', { id });
  const stored = read.data && !read.error ? { source: read.data.data, etag: read.data.etag ?? '' } : undefined;
  return (
    <Page
      title={stored?.source.name ?? 'Source'}
      actions={<LinkButton to={`/debugger?source=${id}`}>See its calls live</LinkButton>}
    >
      {stored ? <Loaded {...stored} /> : <Unread read={read} what="source" />}
    </Page>
  );
}

function Loaded({ source, etag }: Props) {
  const admin = useMay('DELETE /sources/{id}');
  const told = useTelling().get(source.id);
  if (told) {
    return (
      <Text>
        Waypost sends the updates of <TextLink to={told.to}>{told.name}</TextLink> through this source. It accepts no
        other calls and is deleted with it.
      </Text>
    );
  }
  return (
    <Stack>
      <Switch source={source} etag={etag} />
      {source.writeKey === null ? (
        <Text size="sm">Write keys are shown to administrators only.</Text>
      ) : (
        <>
          <Key source={source} etag={etag} />
          <Section title="Send calls">
            <Snippets writeKey={source.writeKey} />
          </Section>
        </>
      )}
      <SourceLimits source={source} etag={etag} />
      <SourceEvents source={source} etag={etag} />
      {admin && <Delete source={source} etag={etag} />}
    </Stack>
  );
}

function Switch({ source: { id, enabled }, etag }: Props) {
  const operator = useMay('PATCH /sources/{id}');
  const change = useChange('PATCH /sources/{id}');
  const set = (on: boolean) => change.mutate({ id, ifMatch: etag, body: { enabled: on } });
  return (
    <section className="card" aria-label="State">
      <div className="row">
        <Pill kind={enabled ? 'on' : 'off'} />
        {operator && !enabled && (
          <Button loading={change.isPending} onClick={() => set(true)}>
            Enable
          </Button>
        )}
        {operator && enabled && (
          <Confirmed
            danger
            label="Disable"
            question="Disable this source?"
            busy={change.isPending}
            onConfirm={() => set(false)}
          >
            <Text>Ingest then refuses its calls, and clients discard refused calls.</Text>
          </Confirmed>
        )}
      </div>
      {change.error && <Failure error={change.error} what="change it" />}
    </section>
  );
}

function Key({ source: { id, writeKey, oldWriteKeys }, etag }: Props) {
  const [overlap, setOverlap] = useState('24h');
  const rotate = useChange('POST /sources/{id}/rotate-key');
  return (
    <Section title="Write key">
      <Stack gap="sm">
        <Group gap="xs">
          <code className="break">{writeKey}</code>
          <Copy text={writeKey ?? ''} label="Copy the write key" />
        </Group>
        {oldWriteKeys.map(({ key, until }) => (
          <Text key={key} size="sm">
            <code className="break">{key}</code> is still valid until <When at={until} />
          </Text>
        ))}
        <Group align="flex-end">
          <TextInput
            label="Overlap"
            description="The old key stays valid for: 0s, 24h, 7d"
            value={overlap}
            onChange={(event) => setOverlap(event.target.value)}
          />
          <Confirmed
            label="Rotate the key"
            question="Rotate the write key?"
            busy={rotate.isPending}
            onConfirm={() => rotate.mutate({ id, ifMatch: etag, body: { overlap } })}
          >
            <Text>The current key stays valid for {overlap}. Give the new key to your clients by then.</Text>
          </Confirmed>
        </Group>
        {rotate.error && <Failure error={rotate.error} what="rotate the key" />}
      </Stack>
    </Section>
  );
}

function Delete({ source: { id, name }, etag }: Props) {
  const navigate = useNavigate();
  const remove = useChange('DELETE /sources/{id}', { onDone: () => void navigate('/sources') });
  return (
    <Deletion name={name} remove={remove} onConfirm={() => remove.mutate({ id, ifMatch: etag })}>
      <Text>Ingest then refuses its calls. Its destinations stay but are no longer connected to it.</Text>
    </Deletion>
  );
}
