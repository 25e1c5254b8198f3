import { Group, NativeSelect, Text } from '@mantine/core';
import { useState } from 'react';
import { type Delivery } from '../../../shared/api/operations';
import { Section, Table } from '../ui/ui';
import { changesBetween } from './differences';
import { text } from '../texts';

const words = text.delivery.compare;

type Attempt = Delivery['attempts'][number];

/** Shows what differs between two attempts; at first the last two. */
export function Compare({ attempts }: { attempts: readonly Attempt[] }) {
  const [chosen, setChosen] = useState<{ before?: string; after?: string }>({});
  const options = attempts.map((attempt, i) => ({ value: String(i), label: attemptName(attempt) }));
  const index = (given: string | undefined, fallback: number) => Number(given ?? fallback);
  const [from, to] = [
    index(chosen.before, attempts.length - 2),
    index(chosen.after, attempts.length - 1),
  ];
  const [before, after] = [attempts[from], attempts[to]];
  if (!before || !after) return null;
  const changes = changesBetween(before, after);
  return (
    <Section title={words.compareAttempts}>
      <Group align="flex-end">
        <NativeSelect
          label={words.from}
          data={options}
          value={String(from)}
          onChange={(event) => setChosen({ ...chosen, before: event.target.value })}
        />
        <NativeSelect
          label={words.to}
          data={options}
          value={String(to)}
          onChange={(event) => setChosen({ ...chosen, after: event.target.value })}
        />
      </Group>
      {changes.length === 0 ? (
        <Text size="sm" className="below">
          {words.noDifference}
        </Text>
      ) : (
        <div className="below">
          <Table
            label={words.differences}
            head={[
              words.what,
              attemptName(before),
              attemptName(after) + (from === to ? words.again : ''),
            ]}
          >
            {changes.map(({ what, before: was, after: is }) => (
              <tr key={what}>
                <th scope="row">{what}</th>
                <td className="break">{was}</td>
                <td className="break">{is}</td>
              </tr>
            ))}
          </Table>
        </div>
      )}
    </Section>
  );
}

export function attemptName({
  n,
  replay,
  withheld,
}: Pick<Attempt, 'n' | 'replay' | 'withheld'>): string {
  if (withheld) return words.withheld(n);
  return replay === 0 ? words.attempt(n) : words.attemptOfReplay(n, replay);
}
