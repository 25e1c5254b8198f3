import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import { readViews, removeView, saveView } from '../lib/views';
import { type Filters } from './filters';
import { useToast } from './toast';
import { text } from '../texts';

const words = text.ui.savedViews;

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
    toast(words.saved);
  };
  return (
    <Group align="flex-end" gap="xs" className="views">
      {views.length > 0 && (
        <NativeSelect
          label={words.savedViews}
          data={[
            { value: '', label: shown ? words.all : words.chooseOne },
            ...views.map(({ name }) => name),
          ]}
          value={shown?.name ?? ''}
          onChange={(event) =>
            filters.replace(views.find(({ name }) => name === event.target.value)?.filters ?? '')
          }
        />
      )}
      {shown && (
        <Button variant="default" onClick={() => setViews(removeView(list, shown.name, storage()))}>
          {words.forgetView}
        </Button>
      )}
      {!shown && filters.text !== '' && naming === undefined && (
        <Button variant="default" onClick={() => setNaming('')}>
          {words.saveView}
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
            aria-label={words.nameView}
            placeholder={words.nameView}
            value={naming}
            onChange={(event) => setNaming(event.target.value)}
            autoFocus
          />
          <Button type="submit" disabled={naming.trim() === ''}>
            {words.save}
          </Button>
          <Button variant="default" onClick={() => setNaming(undefined)}>
            {words.cancel}
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
