import { Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { useRead } from '../lib/api';
import { NewSource } from '../source/new-source';
import { Unread } from '../ui/ui';
import { text } from '../texts';

const words = text.connect.sourcesStep;

/** Chooses existing sources, or creates a new one. */
export function ChooseSources() {
  const read = useRead('GET /sources', { query: { limit: 200 } });
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
        <Checkbox.Group label={words.sources} value={chosen} onChange={setChosen}>
          <Stack gap="xs" mt="xs">
            {sources.map(({ id, name, enabled }) => (
              <Checkbox key={id} value={id} label={enabled ? name : words.disabled(name)} />
            ))}
          </Stack>
        </Checkbox.Group>
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
