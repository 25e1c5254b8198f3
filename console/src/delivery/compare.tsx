import { Group, NativeSelect, Text } from '@mantine/core';
import { useState } from 'react';
import { type Delivery } from '../../../shared/api/operations';
import { Section, Table } from '../ui/ui';
import { changesBetween } from './differences';

type Attempt = Delivery['attempts'][number];

/** Shows what differs between two attempts; at first the last two. */
export function Compare({ attempts }: { attempts: readonly Attempt[] }) {
  const [chosen, setChosen] = useState<{ before?: string; after?: string }>({});
  const options = attempts.map((attempt, i) => ({ value: String(i), label: attemptName(attempt) }));
  const index = (given: string | undefined, fallback: number) => Number(given ?? fallback);
  const [from, to] = [index(chosen.before, attempts.length - 2), index(chosen.after, attempts.length - 1)];
  const [before, after] = [attempts[from], attempts[to]];
  if (!before || !after) return null;
  const changes = changesBetween(before, after);
  return (
    <Section title="Compare attempts">
      <Group align="flex-end">
        <NativeSelect
          label="From"
          data={options}
          value={String(from)}
          onChange={(event) => setChosen({ ...chosen, before: event.target.value })}
        />
        <NativeSelect
          label="To"
          data={options}
          value={String(to)}
          onChange={(event) => setChosen({ ...chosen, after: event.target.value })}
        />
      </Group>
      {changes.length === 0 ? (
        <Text size="sm" className="below">
          These attempts do not differ.
        </Text>
      ) : (
        <div className="below">
          <Table
            label="Differences"
            head={['What', attemptName(before), attemptName(after) + (from === to ? ' again' : '')]}
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

export function attemptName({ n, replay }: Pick<Attempt, 'n' | 'replay'>): string {
  return replay === 0 ? `Attempt ${n}` : `Attempt ${n} of replay ${replay}`;
}
