import { Text } from '@mantine/core';
import { useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { LinkButton } from '../ui/ui';
import { text } from '../texts';

const words = text.source.sendFirst;

/** The next step while nothing has arrived: the code of a source, or a first source. */
export function SendFirst() {
  const read = useRead('GET /sources', { query: { limit: 1 } });
  const mayConnect = useMay('POST /destinations');
  const source = read.data?.data.data[0];
  if (source) {
    return (
      <>
        <Text>{words.hint}</Text>
        <LinkButton primary to={`/sources/${source.id}/code`}>
          {words.showCode}
        </LinkButton>
      </>
    );
  }
  return (
    read.data &&
    mayConnect && (
      <LinkButton primary to="/connect">
        {words.connect}
      </LinkButton>
    )
  );
}
