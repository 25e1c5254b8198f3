import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { useRead } from '../lib/api';
import { NewSource } from '../source/new-source';
import { EntriesPicker } from '../ui/entry-picker';
import { Unread } from '../ui/ui';
import { text } from '../texts';

const words = text.connect.sourcesStep;

/** Chooses existing sources, or creates a new one. */
export function ChooseSources() {
  const read = useRead('GET /sources', { query: { limit: 1 } });
  const [chosen, setChosen] = useState<string[]>([]);
  const [search] = useSearchParams();
  const navigate = useNavigate();
  if (!read.data) return <Unread read={read} what={words.theSources} />;
  const sources = read.data.data.data;
  const next = () => {
    const type = search.get('type') ?? 'webhooks';
    void navigate(
      `/connect/new?${new URLSearchParams({ type, sources: chosen.join(',') }).toString()}`,
    );
  };
  return (
    <Stack>
      <Text>{words.hint}</Text>
      {sources.length > 0 && (
        <EntriesPicker
          kind="sources"
          label={words.sources}
          value={chosen}
          onChange={setChosen}
          nameOf={({ name, enabled }) => (enabled ? name : words.disabled(name))}
        />
      )}
      <NewSource
        label={sources.length === 0 ? words.nameFirst : words.newSourceName}
        suggestedName={sources.length === 0 ? words.suggestedName : ''}
        onMade={({ id }) => setChosen((before) => [...before, id])}
      />
      <Group>
        <Button onClick={next} disabled={chosen.length === 0}>
          {words.continue}
        </Button>
        {chosen.length === 0 && <Text size="sm">{words.chooseOne}</Text>}
      </Group>
    </Stack>
  );
}
