import { Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { type Trial } from '../../../shared/api/operations';
import { useTrial } from '../lib/filter-trial';
import { count } from '../lib/labels';
import { Failure, Pill, Table, When } from '../ui/ui';
import { type Draft } from './draft';
import { text } from '../texts';

const words = text.endpoint.filterField;

/**
 * The filter of a destination. The field validates it while the user types, and tries it on recent
 * events of the sources.
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
  const said =
    mistake && words.mistakeAt(count(mistake.line), count(mistake.column), mistake.message);
  return (
    <Stack gap="xs">
      <Textarea
        label={words.filter}
        description={words.filterHint}
        value={draft.filter}
        onChange={(event) => onChange({ ...draft, filter: event.target.value })}
        error={said ?? problems.get('filter')}
        autosize
        minRows={1}
        maxRows={8}
        spellCheck={false}
      />
      {filter !== '' && trial.error && <Failure error={trial.error} what={words.checkTask} />}
      {answer && !answer.mistake && settled && (
        <>
          <Group gap="xs">
            <Text size="sm" role="status">
              {inWords(answer)}
            </Text>
            {answer.tried > 0 && (
              <Button
                size="compact-sm"
                variant="default"
                aria-expanded={shown}
                onClick={() => setShown(!shown)}
              >
                {shown ? words.hideEvents : words.showEvents}
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
  if (tried === 0) return words.validWithoutEvents;
  const of = [count(matched), words.events(tried)] as const;
  return failed === 0 ? words.matches(...of) : words.matchesBut(...of, count(failed));
}

const WORDS = words.words;
const KINDS = { match: 'on', no_match: 'off', failed: 'dead' } as const;

function Results({ results }: { results: Trial['results'] }) {
  return (
    <Table label={words.filterResults} head={[words.event, words.when, words.filter, words.why]}>
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
