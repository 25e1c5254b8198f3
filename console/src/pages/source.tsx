import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { type Source } from '../../../shared/api/operations';
import { useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { useTelling } from '../lib/sources';
import { Deletion } from '../ui/deletion';
import { Copy } from '../ui/code';
import {
  Confirmed,
  Failure,
  LinkButton,
  Page,
  Pill,
  Section,
  TextLink,
  Unread,
  When,
} from '../ui/ui';
import { SourceEvents } from '../source/events';
import { SourceLimits } from '../source/limits';
import { Snippets } from '../ui/snippets';
import { text } from '../texts';

const words = text.setup.source;

interface Props {
  source: Source;
  etag: string;
}

/** One source: its key, and code that sends with it. */
export function SourcePage() {
  const { id = '' } = useParams();
  const read = useRead('GET /sources/{id}', { id });
  const stored =
    read.data && !read.error ? { source: read.data.data, etag: read.data.etag ?? '' } : undefined;
  return (
    <Page
      title={stored?.source.name ?? words.source}
      actions={<LinkButton to={`/debugger?source=${id}`}>{words.seeLive}</LinkButton>}
    >
      {stored ? <Loaded {...stored} /> : <Unread read={read} what={words.theSource} />}
    </Page>
  );
}

function Loaded({ source, etag }: Props) {
  const admin = useMay('DELETE /sources/{id}');
  const told = useTelling().get(source.id);
  if (told) {
    return <Text>{words.ofAudience(<TextLink to={told.to}>{told.name}</TextLink>)}</Text>;
  }
  return (
    <Stack>
      <Switch source={source} etag={etag} />
      {source.writeKey === null ? (
        <Text size="sm">{words.keysHidden}</Text>
      ) : (
        <>
          <Key source={source} etag={etag} />
          <Section title={words.sendCalls}>
            <Snippets source={source} writeKey={source.writeKey} />
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
    <section className="card" aria-label={words.state}>
      <div className="row">
        <Pill kind={enabled ? 'on' : 'off'} />
        {operator && !enabled && (
          <Button loading={change.isPending} onClick={() => set(true)}>
            {words.enable}
          </Button>
        )}
        {operator && enabled && (
          <Confirmed
            danger
            label={words.disable}
            question={words.disableQuestion}
            busy={change.isPending}
            onConfirm={() => set(false)}
          >
            <Text>{words.disableHint}</Text>
          </Confirmed>
        )}
      </div>
      {change.error && <Failure error={change.error} what={words.changeTask} />}
    </section>
  );
}

function Key({ source: { id, writeKey, oldWriteKeys }, etag }: Props) {
  const [overlap, setOverlap] = useState('24h');
  const rotate = useChange('POST /sources/{id}/rotate-key');
  return (
    <Section title={words.writeKey}>
      <Stack gap="sm">
        <Group gap="xs">
          <code className="break">{writeKey}</code>
          <Copy text={writeKey ?? ''} label={words.copyWriteKey} />
        </Group>
        {oldWriteKeys.map(({ key, until }) => (
          <Text key={key} size="sm">
            {words.oldKeyValid(<code className="break">{key}</code>, <When at={until} />)}
          </Text>
        ))}
        <Group align="flex-end">
          <TextInput
            label={words.overlap}
            description={words.overlapHint}
            value={overlap}
            onChange={(event) => setOverlap(event.target.value)}
          />
          <Confirmed
            label={words.rotateKey}
            question={words.rotateQuestion}
            busy={rotate.isPending}
            onConfirm={() => rotate.mutate({ id, ifMatch: etag, body: { overlap } })}
          >
            <Text>{words.rotateHint(overlap)}</Text>
          </Confirmed>
        </Group>
        {rotate.error && <Failure error={rotate.error} what={words.rotateTask} />}
      </Stack>
    </Section>
  );
}

function Delete({ source: { id, name }, etag }: Props) {
  const navigate = useNavigate();
  const remove = useChange('DELETE /sources/{id}', { onDone: () => void navigate('/sources') });
  return (
    <Deletion name={name} remove={remove} onConfirm={() => remove.mutate({ id, ifMatch: etag })}>
      <Text>{words.deletionHint}</Text>
    </Deletion>
  );
}
