import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import { readViews, removeView, saveView } from '../lib/views';
import { type Filters } from './filters';
import { useToast } from './toast';

/** Saves the filters of a list under a name, and brings them back. This browser keeps them. */
export function SavedViews({ list, filters }: { list: string; filters: Filters }) {
  const [views, setViews] = useState(() => readViews(list, storage()));
  const [naming, setNaming] = useState<string>();
  const toast = useToast();
  const shown = views.find((view) => view.filters === filters.text);
  if (views.length === 0 && filters.text === '') return null;
  const save = () => {
    const name = naming?.trim() ?? '';
    if (name === '') return;
    setViews(saveView(list, { name, filters: filters.text }, storage()));
    setNaming(undefined);
    toast('View saved in this browser');
  };
  return (
    <Group align="flex-end" gap="xs" className="views">
      {views.length > 0 && (
        <NativeSelect
          label="Saved views"
          data={[{ value: '', label: shown ? 'all' : 'choose one' }, ...views.map(({ name }) => name)]}
          value={shown?.name ?? ''}
          onChange={(event) => filters.replace(views.find(({ name }) => name === event.target.value)?.filters ?? '')}
        />
      )}
      {shown && (
        <Button variant="default" onClick={() => setViews(removeView(list, shown.name, storage()))}>
          Forget this view
        </Button>
      )}
      {!shown && filters.text !== '' && naming === undefined && (
        <Button variant="default" onClick={() => setNaming('')}>
          Save this view
        </Button>
      )}
      {naming !== undefined && (
        <form
          className="row"
          onSubmit={(event) => {
            event.preventDefault();
            save();
          }}
        >
          <TextInput
            aria-label="Name of the view"
            placeholder="Name of the view"
            value={naming}
            onChange={(event) => setNaming(event.target.value)}
            autoFocus
          />
          <Button type="submit" disabled={naming.trim() === ''}>
            Save
          </Button>
          <Button variant="default" onClick={() => setNaming(undefined)}>
            Cancel
          </Button>
        </form>
      )}
    </Group>
  );
}

function storage(): Storage | undefined {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}
