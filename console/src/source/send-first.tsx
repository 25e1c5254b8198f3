import { Text } from '@mantine/core';
import { type SourceRow } from '../../../shared/api/operations';
import { useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { curlFor, ingestAddress } from '../lib/snippets';
import { useFirstSource } from '../lib/sources';
import { Code } from '../ui/code';
import { LinkButton } from '../ui/ui';
import { text } from '../texts';

const words = text.source.sendFirst;

/** The next step while nothing has arrived: a call to a source, or a first source. */
export function SendFirst() {
  const source = useFirstSource();
  const mayConnect = useMay('POST /destinations');
  if (source) return <SendTo source={source} />;
  return (
    source === null &&
    mayConnect && (
      <LinkButton primary to="/connect">
        {words.connect}
      </LinkButton>
    )
  );
}

/** A first call to a source, to paste into a terminal, and the code for other clients. */
export function SendTo({
  source: { id, writeKey },
}: {
  source: Pick<SourceRow, 'id' | 'writeKey'>;
}) {
  const about = useRead('GET /about', {}).data?.data;
  const curl =
    about && writeKey !== null && curlFor(ingestAddress(about.ingest, location.origin), writeKey);
  return (
    <>
      <Text>{words.hint}</Text>
      {curl && <Code label={text.ui.snippets.codeFor(curl.name)} text={curl.code} />}
      <LinkButton primary to={`/sources/${id}/code`}>
        {curl ? words.showOthers : words.showCode}
      </LinkButton>
    </>
  );
}
