import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { useSearchParams } from 'react-router';
import { type Deliveries } from '../../../shared/api/operations';
import { pageInWords, stateInWords } from '../lib/labels';
import { filtersIn, isPart, PANEL, withFilters, withValues } from '../lib/list-address';
import { text } from '../texts';

const words = text.ui.filters;

type Total = NonNullable<Deliveries['total']>;

/** A pause in typing that ends a word. */
const TYPING_MS = 400;

/** Filters and pages live in the address, so that a view can be bookmarked and shared. */

export function useFilters() {
  const [search, setSearch] = useSearchParams();
  // A change goes out from the one before, which the page may not show yet.
  const latest = useRef(search);
  useEffect(() => {
    latest.current = search;
  }, [search]);
  const move = (next: URLSearchParams, options?: { replace: boolean }) => {
    latest.current = next;
    setSearch(next, options);
  };
  return {
    get: (name: string) => search.get(name) ?? '',
    /**
     * Returns these filters if they are set. The address may hold invalid values: the API validates
     * them.
     */
    query: <N extends string>(names: readonly N[]) => {
      const set = names
        .map((name) => [name, search.get(name) ?? ''] as const)
        .filter(([, value]) => value !== '');
      return Object.fromEntries(set) as Partial<Record<N, never>>;
    },
    /** A changed filter returns to the first page. */
    set: (name: string, value: string) => {
      move(withFilters(latest.current, { [name]: value }), { replace: true });
    },
    /** Changes several filters at once. An empty value clears one. */
    setAll: (values: Readonly<Record<string, string>>) => {
      move(withFilters(latest.current, values), { replace: true });
    },
    /** Goes to a page: the browser's back button returns to the present one. */
    go: (page: Readonly<Record<string, string>>) => move(withValues(latest.current, page)),
    /** id of the delivery that is open beside the list; empty: none */
    panel: search.get(PANEL) ?? '',
    setPanel: (id: string) => {
      move(withValues(latest.current, { [PANEL]: id }), { replace: true });
    },
    clear: () => move(new URLSearchParams()),
    /** Replaces all filters, as `URLSearchParams` reads them. */
    replace: (text: string) => move(new URLSearchParams(text)),
    /** all filters, to save or compare a view */
    text: filtersIn(search),
    any: isPart(search),
  };
}

export type Filters = ReturnType<typeof useFilters>;

/** One filter of a page. */
export interface Named {
  filters: Filters;
  name: string;
  label: string;
}

/**
 * The filters of a list, and a way to clear them. On a phone they are folded, unless one is set.
 */
export function FilterBar({
  filters,
  label,
  children,
}: {
  filters: Filters;
  label: string;
  children: ReactNode;
}) {
  const [open, setOpen] = useState(filters.text !== '');
  const fields = useId();
  return (
    <form className="filter-bar" aria-label={label} onSubmit={(event) => event.preventDefault()}>
      <Button
        className="fold"
        size="xs"
        variant="default"
        aria-expanded={open}
        aria-controls={fields}
        onClick={() => setOpen(!open)}
      >
        {open ? words.hideFilters : words.filters}
      </Button>
      <div id={fields} className={open ? 'filters' : 'filters folded'}>
        {children}
      </div>
      {filters.any && (
        <Button variant="default" onClick={filters.clear}>
          {words.clear}
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
      data={[{ value: '', label: words.all }, ...options]}
      value={filters.get(name)}
      onChange={(e) => filters.set(name, e.target.value)}
    />
  );
}

export function ChoiceFilter({ options, ...named }: Named & { options: readonly string[] }) {
  return (
    <SelectFilter
      {...named}
      options={options.map((value) => ({ value, label: stateInWords(value) }))}
    />
  );
}

/** Applies the filter when the user stops typing, presses Enter or leaves the field. */
export function TextFilter({
  filters,
  name,
  label,
  isExact = false,
  isSearch = false,
  ...input
}: Named & {
  placeholder?: string;
  description?: string;
  /** blanks at the ends count, as an id of a customer may have them */
  isExact?: boolean;
  /** the search field of its page, which needs no label beside it */
  isSearch?: boolean;
}) {
  const applied = filters.get(name);
  const [text, setText] = useState(applied);
  const last = useRef(applied);
  const apply = (typed: string) => {
    const wanted = isExact ? typed : typed.trim();
    last.current = wanted;
    if (wanted !== applied) filters.set(name, wanted);
  };
  const soon = useDebouncedCallback(apply, TYPING_MS);
  const use = () => {
    soon.cancel();
    apply(text);
  };
  useEffect(() => {
    // The address has changed by a button, a link or the browser's history.
    if (applied !== last.current) {
      last.current = applied;
      setText(applied);
    }
  }, [applied]);
  return (
    <TextInput
      {...input}
      {...(isSearch ? { 'aria-label': label, placeholder: label, 'data-search': true } : { label })}
      value={text}
      onChange={(event) => {
        setText(event.target.value);
        soon(event.target.value);
      }}
      onBlur={use}
      onKeyDown={(event) => {
        if (event.key === 'Enter') use();
      }}
    />
  );
}

/** The search field of a list whose server searches one text. */
export function SearchBar({ filters, label }: { filters: Filters; label: string }) {
  return (
    <form role="search" onSubmit={(event) => event.preventDefault()}>
      <TextFilter filters={filters} name="q" label={label} isSearch />
    </form>
  );
}

/**
 * The head of a column that sorts by a click, and the other way by the next one.
 * @param by a value of `?sort=`: the order of the first click
 */
export function sortable(filters: Filters, text: string, by: string) {
  const sort = filters.get('sort');
  const reverse = by.startsWith('-') ? by.slice(1) : `-${by}`;
  const isDescending = sort.startsWith('-');
  const sorted = isDescending ? ('descending' as const) : ('ascending' as const);
  return {
    text,
    sorted: sort === by || sort === reverse ? sorted : undefined,
    sort: (
      <button className="sort" onClick={() => filters.set('sort', sort === by ? reverse : by)}>
        {text}
        <span aria-hidden="true">
          {sort === by || sort === reverse ? (isDescending ? ' ↓' : ' ↑') : ''}
        </span>
      </button>
    ),
  };
}

interface PagerProps {
  filters: Filters;
  /** undefined: not read yet */
  page: ListPage | undefined;
  /** the number of all items, if it is read apart from the page */
  total?: Total | undefined;
}

interface ListPage {
  data: readonly unknown[];
  next: string | null;
  total?: Total | undefined;
}

/**
 * Says which items of how many are shown, and goes to the next page and back to the first. The
 * position is a cursor, so the number of a page is in the address.
 */
export function Pager({ filters, page, total = page?.total }: PagerProps) {
  const [first, next] = [filters.get('after') === '', page?.next ?? null];
  const isOnly = first && next === null;
  const nth = first ? 1 : Math.max(2, Number(filters.get('page')) || 2);
  const says =
    total && page ? pageInWords(nth, page.data.length, total) : isOnly ? '' : words.page(nth);
  if (isOnly && says === '') return null;
  return (
    <Group>
      {!isOnly && (
        <Button
          variant="default"
          disabled={first}
          onClick={() => filters.go({ after: '', page: '' })}
        >
          {words.firstPage}
        </Button>
      )}
      <Text size="sm">{says}</Text>
      {!isOnly && (
        <Button
          variant="default"
          disabled={next === null}
          onClick={() => filters.go({ after: next ?? '', page: String(nth + 1) })}
        >
          {words.nextPage}
        </Button>
      )}
    </Group>
  );
}
