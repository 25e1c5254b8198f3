import { Button, Group, NativeSelect } from '@mantine/core';
import { useSearchParams } from 'react-router';
import { useNames } from '../lib/api';

/** Filters and pages live in the address, so that what is seen can be kept and shared. */

export function useFilters() {
  const [search, setSearch] = useSearchParams();
  return {
    get: (name: string) => search.get(name) ?? '',
    /** Those of these that are set, as the API wants them. */
    query: (names: readonly string[]) =>
      Object.fromEntries(names.map((name) => [name, search.get(name) ?? '']).filter(([, value]) => value !== '')),
    /** A filter that changes leads back to the first page. */
    set: (name: string, value: string) => {
      setSearch(
        (before) => {
          const next = new URLSearchParams(before);
          if (name !== 'after') next.delete('after');
          if (value === '') next.delete(name);
          else next.set(name, value);
          return next;
        },
        { replace: name !== 'after' },
      );
    },
    clear: () => {
      setSearch(new URLSearchParams());
    },
    any: search.size > 0,
  };
}

export type Filters = ReturnType<typeof useFilters>;

interface Choice {
  filters: Filters;
  name: string;
  label: string;
}

export function ChoiceFilter({ filters, name, label, options }: Choice & { options: readonly string[] }) {
  const data = [{ value: '', label: 'all' }, ...options.map((value) => ({ value, label: value.replaceAll('_', ' ') }))];
  return (
    <NativeSelect
      label={label}
      data={data}
      value={filters.get(name)}
      onChange={(e) => filters.set(name, e.target.value)}
    />
  );
}

export function NameFilter({ filters, name, label, kind }: Choice & { kind: 'sources' | 'destinations' }) {
  const names = useNames(kind);
  const data = [{ value: '', label: 'all' }, ...[...names].map(([value, text]) => ({ value, label: text }))];
  return (
    <NativeSelect
      label={label}
      data={data}
      value={filters.get(name)}
      onChange={(e) => filters.set(name, e.target.value)}
    />
  );
}

export function Pager({ filters, next }: { filters: Filters; next: string | null }) {
  const first = filters.get('after') === '';
  if (first && next === null) return null;
  return (
    <Group>
      <Button variant="default" disabled={first} onClick={() => filters.set('after', '')}>
        First page
      </Button>
      <Button variant="default" disabled={next === null} onClick={() => filters.set('after', next ?? '')}>
        Next page
      </Button>
    </Group>
  );
}
