import { SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type About } from '../../../shared/api/operations';
import { useRead } from '../lib/api';
import { ingestAddress, snippetsFor } from '../lib/snippets';
import { Code } from './code';
import { Unread } from './ui';

/** Code to copy, with the write key in it. */
export function Snippets({ writeKey }: { writeKey: string }) {
  const read = useRead('GET /about', {});
  if (!read.data) return <Unread read={read} what="the address of ingest" />;
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
          label="Ingest URL"
          description="Where your clients send events. WAYPOST_INGEST_URL sets it for everyone"
          value={address}
          onChange={(event) => setAddress(event.target.value)}
        />
      ) : (
        <Text size="sm">
          Clients send to <code>{address}</code>
        </Text>
      )}
      <div className="table-scroll">
        <SegmentedControl
          aria-label="Client"
          data={snippets.map((snippet) => snippet.name)}
          value={name}
          onChange={setName}
        />
      </div>
      {chosen && <Code label={`code for ${chosen.name}`} text={chosen.code} />}
    </Stack>
  );
}
