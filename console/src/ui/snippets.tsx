import { SegmentedControl, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { ingestBeside, snippetsFor } from '../lib/snippets';
import { Code } from './ui';

/** Code to copy, with the write key in it. Control does not know where ingest is reached from outside: one may say so. */
export function Snippets({ writeKey }: { writeKey: string }) {
  const [ingest, setIngest] = useState(() => ingestBeside(location.origin));
  const [name, setName] = useState('curl');
  const snippets = snippetsFor(ingest, writeKey);
  const chosen = snippets.find((snippet) => snippet.name === name);
  return (
    <Stack gap="sm">
      <TextInput
        label="Address of ingest"
        description="Where your clients reach it"
        value={ingest}
        onChange={(event) => setIngest(event.target.value)}
      />
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
