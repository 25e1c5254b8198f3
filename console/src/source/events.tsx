import { Button, Text } from '@mantine/core';
import { type Source } from '../../../shared/api/operations';
import { useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { count } from '../lib/labels';
import { Failure, Pill, Section, Table, Unread, When } from '../ui/ui';

/** The track events of a source. The user can block each. */

const LOOK_AGAIN_MS = 10_000;

export function SourceEvents({ source: { id, blockedEvents }, etag }: { source: Source; etag: string }) {
  const read = useRead('GET /sources/{id}/events', { id }, { every: LOOK_AGAIN_MS });
  const operator = useMay('PATCH /sources/{id}');
  const change = useChange('PATCH /sources/{id}');
  const set = (names: string[]) => change.mutate({ id, ifMatch: etag, body: { blockedEvents: names } });
  const events = read.data?.data.data;
  return (
    <Section title="Track events">
      {!events && <Unread read={read} what="events" />}
      {events?.length === 0 && <Text size="sm">No track events yet.</Text>}
      {events && events.length > 0 && (
        <Table label="Track events" head={['Event', 'Seen', 'Last', 'State', 'Change']}>
          {events.map(({ name, count: seen, lastSeenAt, blocked }) => (
            <tr key={name}>
              <td className="break">{name}</td>
              <td>{count(seen)}</td>
              <td>
                <When at={lastSeenAt} />
              </td>
              <td>
                <Pill kind={blocked ? 'off' : 'on'}>{blocked ? 'blocked' : 'delivered'}</Pill>
              </td>
              <td>
                {operator && (
                  <Button
                    size="compact-sm"
                    variant="default"
                    loading={change.isPending}
                    aria-label={`${blocked ? 'Unblock' : 'Block'} ${name}`}
                    onClick={() =>
                      set(blocked ? blockedEvents.filter((each) => each !== name) : [...blockedEvents, name])
                    }
                  >
                    {blocked ? 'Unblock' : 'Block'}
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Text size="sm">A blocked event counts as received and appears in the debugger, but is not delivered.</Text>
      {change.error && <Failure error={change.error} what="change it" />}
    </Section>
  );
}
