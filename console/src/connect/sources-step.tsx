import { Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { useChange, useRead } from '../lib/api';
import { Failure, Unread } from '../ui/ui';

/** Chooses existing sources, or creates a new one. */
export function ChooseSources() {
  const read = useRead('GET /sources', { query: { limit: 200 } });
  const [chosen, setChosen] = useState<string[]>([]);
  const [search] = useSearchParams();
  const navigate = useNavigate();
  if (!read.data) return <Unread read={read} what="sources" />;
  const sources = read.data.data.data;
  const next = () => {
    const type = search.get('type') ?? 'webhooks';
    void navigate(`/connect/new?${new URLSearchParams({ type, sources: chosen.join(',') }).toString()}`);
  };
  return (
    <Stack>
      <Text>A source is where calls come from: a site, an app, a server. Choose the sources to deliver.</Text>
      {sources.length > 0 && (
        <Checkbox.Group label="Sources" value={chosen} onChange={setChosen}>
          <Stack gap="xs" mt="xs">
            {sources.map(({ id, name, enabled }) => (
              <Checkbox key={id} value={id} label={enabled ? name : `${name} (disabled)`} />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
      <NewSource first={sources.length === 0} onMade={(id) => setChosen((before) => [...before, id])} />
      <Group>
        <Button onClick={next} disabled={chosen.length === 0}>
          Continue
        </Button>
        {chosen.length === 0 && <Text size="sm">Choose or create a source to continue.</Text>}
      </Group>
    </Stack>
  );
}

function NewSource({ first, onMade }: { first: boolean; onMade: (id: string) => void }) {
  const [name, setName] = useState(first ? 'My site' : '');
  const make = useChange('POST /sources', {
    onDone: ({ data }) => {
      setName('');
      onMade(data.id);
    },
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate({ body: { name: name.trim() } });
      }}
    >
      <Group align="flex-end">
        <TextInput
          label={first ? 'No sources yet. Name your first source' : 'New source name'}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <Button type="submit" variant="default" loading={make.isPending} disabled={name.trim() === ''}>
          Create source
        </Button>
      </Group>
      {make.error && <Failure error={make.error} what="create the source" />}
    </form>
  );
}
