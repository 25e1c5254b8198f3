import { Alert, Button, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { type About, type Source } from '../../../shared/api/operations';
import { useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { DOCS } from '../lib/docs';
import { ingestAddress, type Snippet, snippetsFor } from '../lib/snippets';
import { Code } from './code';
import { Failure, Unread } from './ui';
import { text } from '../texts';

const words = text.ui.snippets;

interface Props {
  source: Pick<Source, 'name' | 'trust'>;
  writeKey: string;
}

/** Code to copy, with the write key in it. */
export function Snippets(props: Props) {
  const read = useRead('GET /about', {});
  if (!read.data) return <Unread read={read} what={words.theAddress} />;
  return <Ready {...props} ingest={read.data.data.ingest} />;
}

function Ready({ source, writeKey, ingest }: Props & { ingest: About['ingest'] }) {
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
      {chosen?.inPage && source.trust === 'server' && <SecretKey name={source.name} />}
      {chosen && <Program of={chosen} />}
    </Stack>
  );
}

/** What to install, the program, and how to run it: each to copy as it is. */
function Program({ of: { name, install, file, code, run, isOwn = false } }: { of: Snippet }) {
  return (
    <Stack gap="xs">
      {isOwn && (
        <Text size="sm">
          {words.ownClient}{' '}
          <a className="link" href={DOCS.clients} target="_blank" rel="noreferrer">
            {words.comparison}
          </a>
        </Text>
      )}
      {install !== undefined && (
        <>
          <Text size="sm">{isOwn ? words.installFromClone : words.install}</Text>
          <Code label={words.installFor(name)} text={install} />
        </>
      )}
      {file !== undefined && <Text size="sm">{words.saveAs(<code>{file}</code>)}</Text>}
      <Code label={words.codeFor(name)} text={code} />
      {run !== undefined && (
        <>
          <Text size="sm">{words.run}</Text>
          <Code label={words.runFor(name)} text={run} />
        </>
      )}
    </Stack>
  );
}

/** Warns of the key of a server in a page, and offers a source for pages. */
function SecretKey({ name }: { name: string }) {
  const admin = useMay('POST /sources');
  const navigate = useNavigate();
  const make = useChange('POST /sources', {
    onDone: ({ data }) => void navigate(`/sources/${data.id}/code`),
  });
  const create = () => make.mutate({ body: { name: words.nameForPages(name), trust: 'browser' } });
  return (
    <Alert color="yellow" title={words.secretKey}>
      <Stack gap="sm" align="flex-start">
        <Text size="sm">{words.secretKeyHint}</Text>
        {admin && (
          <Button size="xs" variant="default" loading={make.isPending} onClick={create}>
            {words.createForPages}
          </Button>
        )}
        {make.error && <Failure error={make.error} what={words.createTask} />}
      </Stack>
    </Alert>
  );
}
