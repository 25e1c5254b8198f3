import { SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type About } from '../../../shared/api/operations';
import { useRead } from '../lib/api';
import { ingestAddress, snippetsFor } from '../lib/snippets';
import { Code } from './code';
import { Unread } from './ui';
import { text } from '../texts';

const words = text.ui.snippets;

/** Code to copy, with the write key in it. */
export function Snippets({ writeKey }: { writeKey: string }) {
  const read = useRead('GET /about', {});
  if (!read.data) return <Unread read={read} what={words.theAddress} />;
  return <Ready writeKey={writeKey} ingest={read.data.data.ingest} />;
}

function Ready({ writeKey, ingest }: { writeKey: string; ingest: About['ingest'] }) {
  const [address, setAddress] = useState(() => ingestAddress(ingest, location.origin));
  const [name, setName] = useState('curl');
  const snippets = snippetsFor(address, writeKey);
  const chosen = snippets.find((snippet) => snippet.name === name);
  return (
    <Stack gap="sm">
      {ingest.url === null ? (
        <TextInput
          label={words.ingestUrl}
          description={words.ingestUrlHint}
          value={address}
          onChange={(event) => setAddress(event.target.value)}
        />
      ) : (
        <Text size="sm">{words.clientsSend(<code>{address}</code>)}</Text>
      )}
      <div className="table-scroll">
        <SegmentedControl
          aria-label={words.client}
          data={snippets.map((snippet) => snippet.name)}
          value={name}
          onChange={setName}
        />
      </div>
      {chosen && <Code label={words.codeFor(chosen.name)} text={chosen.code} />}
    </Stack>
  );
}
