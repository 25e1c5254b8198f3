import { Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { type Trial } from '../../../shared/api/operations';
import { useTrial } from '../lib/filter-trial';
import { count, counted } from '../lib/labels';
import { Failure, Pill, Table, When } from '../ui/ui';
import { type Draft } from './draft';

/**
 * The filter of a destination. The field validates it while the user types, and tries it on recent events of the
 * sources.
 */

const TYPING_MS = 300;
const TRIED = 50;

interface Props {
  draft: Draft;
  onChange: (draft: Draft) => void;
  problems: ReadonlyMap<string, string>;
}

export function FilterField({ draft, onChange, problems }: Props) {
  const [shown, setShown] = useState(false);
  const [filter] = useDebouncedValue(draft.filter.trim(), TYPING_MS);
  const trial = useTrial({ filter, sources: draft.sources, limit: TRIED });
  const answer = filter === '' ? undefined : trial.data?.data;
  const settled = filter === draft.filter.trim();
  const mistake = settled ? answer?.mistake : undefined;
  const said = mistake && `Line ${count(mistake.line)}, column ${count(mistake.column)}: ${mistake.message}`;
  return (
    <Stack gap="xs">
      <Textarea
        label="Filter"
        description={
          'A condition in CEL, such as event == "Order Completed" && properties.total > 100. Leave empty for all messages'
        }
        value={draft.filter}
        onChange={(event) => onChange({ ...draft, filter: event.target.value })}
        error={said ?? problems.get('filter')}
        autosize
        minRows={1}
        maxRows={8}
        spellCheck={false}
      />
      {filter !== '' && trial.error && <Failure error={trial.error} what="check the filter" />}
      {answer && !answer.mistake && settled && (
        <>
          <Group gap="xs">
            <Text size="sm" role="status">
              {inWords(answer)}
            </Text>
            {answer.tried > 0 && (
              <Button size="compact-sm" variant="default" aria-expanded={shown} onClick={() => setShown(!shown)}>
                {shown ? 'Hide events' : 'Show events'}
              </Button>
            )}
          </Group>
          {shown && answer.tried > 0 && <Results results={answer.results} />}
        </>
      )}
    </Stack>
  );
}

function inWords({ tried, matched, failed }: Trial): string {
  if (tried === 0) return 'The filter is valid. Its sources have no recent events to evaluate.';
  const of = `It matches ${count(matched)} of the last ${counted(tried, 'event')}`;
  return failed === 0 ? `${of}.` : `${of}. It cannot be evaluated for ${count(failed)}, which do not match.`;
}

const WORDS = { match: 'matches', no_match: 'does not match', failed: 'fails' } as const;
const KINDS = { match: 'on', no_match: 'off', failed: 'dead' } as const;

function Results({ results }: { results: Trial['results'] }) {
  return (
    <Table label="Filter results" head={['Event', 'When', 'Filter', 'Why']}>
      {results.map(({ event, type, name, at, outcome, reason }) => (
        <tr key={event}>
          <td>{name === null ? type : `${type}: ${name}`}</td>
          <td>
            <When at={at} />
          </td>
          <td>
            <Pill kind={KINDS[outcome]}>{WORDS[outcome]}</Pill>
          </td>
          <td>{reason}</td>
        </tr>
      ))}
    </Table>
  );
}
