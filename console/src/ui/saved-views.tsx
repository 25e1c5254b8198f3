import { ActionIcon, Button, Group, TextInput } from '@mantine/core';
import { useState } from 'react';
import { readViews, removeView, saveView } from '../lib/views';
import { type Filters } from './filters';
import { Icon } from './icons';
import { useToast } from './toast';
import { text } from '../texts';

const words = text.ui.savedViews;

interface Props {
  list: string;
  filters: Filters;
  /** the tabs that every user has: each sets one filter and keeps the others */
  tabs: readonly { name: string; filter: string; value: string }[];
}

/**
 * The views of a list as tabs: those that every user has, and the filters that somebody saved under
 * a name. This browser keeps them.
 */
export function ViewTabs({ list, filters, tabs }: Props) {
  const [views, setViews] = useState(() => readViews(list, storage()));
  const [naming, setNaming] = useState<string>();
  const toast = useToast();
  const shown = views.find((view) => view.filters === filters.text);
  const save = () => {
    const name = naming?.trim() ?? '';
    if (name === '') return;
    setViews(saveView(list, { name, filters: filters.text }, storage()));
    setNaming(undefined);
    toast(words.saved);
  };
  return (
    <div className="tabs" role="group" aria-label={words.views}>
      {tabs.map(({ name, filter, value }) => (
        <button
          key={name}
          className="tab"
          aria-pressed={!shown && filters.get(filter) === value}
          onClick={() => filters.set(filter, value)}
        >
          {name}
        </button>
      ))}
      {views.map(({ name, filters: saved }) => (
        <button
          key={name}
          className="tab"
          title={name}
          aria-pressed={shown?.name === name}
          onClick={() => filters.replace(saved)}
        >
          {name}
        </button>
      ))}
      {shown && (
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={words.forgetView}
          title={words.forgetView}
          onClick={() => setViews(removeView(list, shown.name, storage()))}
        >
          <Icon name="close" />
        </ActionIcon>
      )}
      {!shown && filters.text !== '' && naming === undefined && (
        <Button
          className="tabs-end"
          variant="subtle"
          size="compact-sm"
          onClick={() => setNaming('')}
        >
          {words.saveView}
        </Button>
      )}
      {naming !== undefined && (
        <form
          className="row tabs-end"
          onSubmit={(event) => {
            event.preventDefault();
            save();
          }}
        >
          <Group gap="xs">
            <TextInput
              size="xs"
              aria-label={words.nameView}
              placeholder={words.nameView}
              value={naming}
              onChange={(event) => setNaming(event.target.value)}
              autoFocus
            />
            <Button size="xs" type="submit" disabled={naming.trim() === ''}>
              {words.save}
            </Button>
            <Button size="xs" variant="default" onClick={() => setNaming(undefined)}>
              {words.cancel}
            </Button>
          </Group>
        </form>
      )}
    </div>
  );
}

function storage(): Storage | undefined {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}
