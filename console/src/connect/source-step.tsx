import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { SourcesField } from '../destination/fields';
import { useRead } from '../lib/api';
import { NewSource } from '../source/new-source';
import { EntriesPicker } from '../ui/entry-picker';
import { Section, Unread } from '../ui/ui';
import { type Stored, StoredStep } from './stored-step';
import { text } from '../texts';

const words = text.connect.sourceStep;

/** Step 1: chooses existing sources, or creates a first one. */
export function ChooseSources() {
  const read = useRead('GET /sources', { query: { limit: 2, sort: 'name' } });
  const [chosen, setChosen] = useState<string[]>();
  const navigate = useNavigate();
  if (!read.data) return <Unread read={read} what={words.theSources} />;
  const sources = read.data.data.data;
  const next = (ids: readonly string[]) =>
    void navigate(`/connect/new?${new URLSearchParams({ sources: ids.join(',') }).toString()}`);
  if (sources.length === 0) {
    return (
      <Section title={words.first}>
        <Stack>
          <Text size="sm">{words.hint}</Text>
          <NewSource
            label={words.name}
            suggestedName={words.suggestedName}
            submit={words.createFirst}
            onMade={({ id }) => next([id])}
          />
        </Stack>
      </Section>
    );
  }
  // The only source is the one that is meant.
  const only = sources.length === 1 ? sources.map(({ id }) => id) : [];
  const value = chosen ?? only;
  return (
    <Stack>
      <Section title={words.which}>
        <Stack>
          <Text size="sm">{words.hint}</Text>
          <EntriesPicker
            kind="sources"
            label={words.sources}
            value={value}
            onChange={setChosen}
            nameOf={({ name, enabled }) => (enabled ? name : words.disabled(name))}
          />
          <Group>
            <Button onClick={() => next(value)} disabled={value.length === 0}>
              {words.continue}
            </Button>
            {value.length === 0 && <Text size="sm">{words.chooseOne}</Text>}
          </Group>
        </Stack>
      </Section>
      <Section title={words.another}>
        <NewSource label={words.name} onMade={({ id }) => setChosen([...value, id])} />
      </Section>
    </Stack>
  );
}

/** The same step of a stored destination. */
export function SourcesAgain(stored: Stored) {
  return (
    <StoredStep {...stored} next="test" submit={words.saveAndTest} what={words.saveTask} mayCancel>
      {({ fields }) => <SourcesField {...fields} />}
    </StoredStep>
  );
}
