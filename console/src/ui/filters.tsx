import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useSearchParams } from 'react-router';
import { useNames } from '../lib/api';

/** Filters and pages live in the address, so that a view can be bookmarked and shared. */

export function useFilters() {
  const [search, setSearch] = useSearchParams();
  return {
    get: (name: string) => search.get(name) ?? '',
    /** Returns these filters if they are set. The address may hold invalid values: the API validates them. */
    query: <N extends string>(names: readonly N[]) => {
      const set = names.map((name) => [name, search.get(name) ?? ''] as const).filter(([, value]) => value !== '');
      return Object.fromEntries(set) as Partial<Record<N, never>>;
    },
    /** A changed filter returns to the first page. */
    set: (name: string, value: string) => {
      setSearch(
        (before) => {
          const next = new URLSearchParams(before);
          if (!isPage(name)) next.delete('after');
          if (value === '') next.delete(name);
          else next.set(name, value);
          return next;
        },
        { replace: !isPage(name) },
      );
    },
    clear: () => {
      setSearch(new URLSearchParams());
    },
    any: search.size > 0,
  };
}

/** Two lists on one page have separate positions in the address. */
type PageName = 'after' | 'syncs';

function isPage(name: string): boolean {
  return name === 'after' || name === 'syncs';
}

export type Filters = ReturnType<typeof useFilters>;

/** One filter of a page. */
export interface Named {
  filters: Filters;
  name: string;
  label: string;
}

/** The filters of a list, and a way to clear them. */
export function FilterBar({ filters, label, children }: { filters: Filters; label: string; children: ReactNode }) {
  return (
    <form className="filters" aria-label={label} onSubmit={(event) => event.preventDefault()}>
      {children}
      {filters.any && (
        <Button className="beside-field" variant="default" onClick={filters.clear}>
          Clear
        </Button>
      )}
    </form>
  );
}

/** Selects one option, or all. */
export function SelectFilter({
  filters,
  name,
  label,
  options,
}: Named & { options: { value: string; label: string }[] }) {
  return (
    <NativeSelect
      label={label}
      data={[{ value: '', label: 'all' }, ...options]}
      value={filters.get(name)}
      onChange={(e) => filters.set(name, e.target.value)}
    />
  );
}

export function ChoiceFilter({ options, ...named }: Named & { options: readonly string[] }) {
  return <SelectFilter {...named} options={options.map((value) => ({ value, label: value.replaceAll('_', ' ') }))} />;
}

export function NameFilter({ kind, ...named }: Named & { kind: 'sources' | 'destinations' }) {
  const names = useNames(kind);
  return <SelectFilter {...named} options={[...names].map(([value, label]) => ({ value, label }))} />;
}

/** Applies the filter after typing ends, not for each letter. */
export function TextFilter({ filters, name, label }: Named) {
  const [text, setText] = useState(filters.get(name));
  const use = () => {
    if (text.trim() !== filters.get(name)) filters.set(name, text.trim());
  };
  return (
    <TextInput
      label={label}
      value={text}
      onChange={(event) => setText(event.target.value)}
      onBlur={use}
      onKeyDown={(event) => {
        if (event.key === 'Enter') use();
      }}
    />
  );
}

export function Pager({ filters, next, name = 'after' }: { filters: Filters; next: string | null; name?: PageName }) {
  const first = filters.get(name) === '';
  if (first && next === null) return null;
  return (
    <Group>
      <Button variant="default" disabled={first} onClick={() => filters.set(name, '')}>
        First page
      </Button>
      <Button variant="default" disabled={next === null} onClick={() => filters.set(name, next ?? '')}>
        Next page
      </Button>
    </Group>
  );
}
