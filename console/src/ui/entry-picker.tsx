import { MultiSelect, Select, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { type Entry, type EntryKind, useEntries, useRead } from '../lib/api';
import { type Named } from './filters';
import { text } from '../texts';

const words = text.ui.entryPicker;

/** Choose among any number of destinations or sources: the server searches their names. */

/** A pause in typing that ends a word. */
const TYPING_MS = 200;
const SHOWN = 20;

/** Returns the entries whose name or id has the text; undefined: they are not read yet. */
export function useEntriesWith(
  kind: EntryKind,
  typed: string,
  enabled = true,
): Entry[] | undefined {
  const [q] = useDebouncedValue(typed.trim(), TYPING_MS);
  const query = q === '' ? { limit: SHOWN } : { q, limit: SHOWN };
  const destinations = useRead(
    'GET /destinations',
    { query: { ...query, sort: 'name' } },
    { keep: true, enabled: enabled && kind === 'destinations' },
  );
  const sources = useRead(
    'GET /sources',
    { query: { ...query, sort: 'name' } },
    { keep: true, enabled: enabled && kind === 'sources' },
  );
  return (kind === 'sources' ? sources : destinations).data?.data.data;
}

interface PickerProps {
  kind: EntryKind;
  label: string;
  /** says what none means */
  placeholder?: string;
  /** empty: none */
  value: string;
  onChange: (id: string) => void;
  hidesLabel?: boolean;
}

/** Chooses one entry, or none. */
export function EntryPicker(props: PickerProps) {
  const { kind, label, placeholder = words.search, value, onChange, hidesLabel = false } = props;
  const [typed, setTyped] = useState('');
  // Most readers of a page choose nothing here.
  const [isUsed, setUsed] = useState(false);
  const known = useEntries(kind, value === '' ? [] : [value]);
  const found = useEntriesWith(kind, known.get(value)?.name === typed ? '' : typed, isUsed);
  const chosen = value === '' ? [] : [{ value, label: known.get(value)?.name ?? value }];
  const others = (found ?? [])
    .filter(({ id }) => id !== value)
    .map(({ id, name }) => ({ value: id, label: name }));
  return (
    <Select
      {...(hidesLabel ? { 'aria-label': label } : { label })}
      placeholder={placeholder}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': words.clear(label) }}
      nothingFoundMessage={found === undefined ? words.searching : words.nothingFound}
      onFocus={() => setUsed(true)}
      data={[...chosen, ...others]}
      // The server has searched.
      filter={({ options }) => options}
      value={value === '' ? null : value}
      onChange={(id) => onChange(id ?? '')}
      searchValue={typed}
      onSearchChange={setTyped}
      maxDropdownHeight={320}
    />
  );
}

/** A filter of a page by one entry. */
export function EntryFilter({
  filters,
  name,
  label,
  kind,
  all,
}: Named & { kind: EntryKind; all?: string }) {
  return (
    <EntryPicker
      kind={kind}
      label={label}
      placeholder={all ?? text.ui.filters.all}
      hidesLabel={all !== undefined}
      value={filters.get(name)}
      onChange={(id) => filters.set(name, id)}
    />
  );
}

interface EntriesProps {
  kind: EntryKind;
  label: string;
  description?: string;
  value: readonly string[];
  onChange: (ids: string[]) => void;
  error?: ReactNode;
  /** how an entry is shown; default: by its name */
  nameOf?: (entry: Entry) => string;
  /** whether an entry may be chosen; default: all */
  offers?: (entry: Entry) => boolean;
  /** shown below while there is no entry at all */
  none?: ReactNode;
}

/** Chooses several entries. */
export function EntriesPicker(props: EntriesProps) {
  const { kind, label, description, value, onChange, error, none } = props;
  const nameOf = props.nameOf ?? ((entry: Entry) => entry.name);
  const offers = props.offers ?? (() => true);
  const [typed, setTyped] = useState('');
  const known = useEntries(kind, value);
  const found = useEntriesWith(kind, typed) ?? [];
  const chosen = value.map((id) => {
    const entry = known.get(id) ?? found.find((each) => each.id === id);
    return { value: id, label: entry ? nameOf(entry) : id };
  });
  const others = found
    .filter((entry) => !value.includes(entry.id) && offers(entry))
    .map((entry) => ({ value: entry.id, label: nameOf(entry) }));
  return (
    <>
      <MultiSelect
        label={label}
        description={description}
        placeholder={value.length === 0 ? words.search : undefined}
        searchable
        hidePickedOptions
        nothingFoundMessage={words.nothingFound}
        data={[...chosen, ...others]}
        // The server has searched.
        filter={({ options }) => options}
        value={[...value]}
        onChange={onChange}
        searchValue={typed}
        onSearchChange={setTyped}
        maxDropdownHeight={320}
        error={error}
      />
      {none !== undefined && typed === '' && value.length === 0 && found.length === 0 && (
        <Text size="sm">{none}</Text>
      )}
    </>
  );
}
