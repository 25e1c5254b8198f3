import { Combobox, Pill, PillsInput, Text, useCombobox } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';
import { FILTER_STATUSES } from '../../../shared/model/reasons';
import { call, type EntryKind, useEntries } from '../lib/api';
import { absolute, stateInWords, TYPES } from '../lib/labels';
import { useEntriesWith } from '../ui/entry-picker';
import { type Filters } from '../ui/filters';
import { checked, type Key, KEYS, parseSearch, type Problem, type Token } from './search';
import { text } from '../texts';

const words = text.watch.search;

/**
 * One field for all filters of the deliveries: it offers the filters and their values while the
 * user types, shows each chosen one as a chip, and searches for the rest of the text.
 */

/** A pause in typing that ends a word. */
const TYPING_MS = 400;
const SPANS = ['15m', '1h', '24h', '7d'];
const CODES = ['2xx', '3xx', '4xx', '5xx', '429'];

interface Props {
  filters: Filters;
  /** a filter that the page sets */
  fixed?: Key | undefined;
}

export function SearchField({ filters, fixed }: Props) {
  const applied = filters.get('q');
  const [typed, setTyped] = useState(applied);
  const [problem, setProblem] = useState<string>();
  const last = useRef(applied);
  const combobox = useCombobox();
  const soon = useDebouncedCallback((q: string) => search(q), TYPING_MS);
  const search = (q: string) => {
    soon.cancel();
    last.current = q;
    if (q !== filters.get('q')) filters.set('q', q);
  };
  useEffect(() => {
    // The address has changed by a button, a link or the browser's history.
    if (applied === last.current) return;
    last.current = applied;
    setTyped(applied);
  }, [applied]);

  const apply = async (tokens: readonly Token[]) => {
    setProblem(undefined);
    for (const token of tokens) {
      const found = await resolved(token);
      if ('problem' in found) setProblem(found.problem);
      else filters.set(found.key, found.value);
    }
  };
  /** Takes the complete filters out of the text. */
  const take = (value: string, isComplete: boolean) => {
    const { tokens, words: rest, open } = parseSearch(isComplete ? `${value} ` : value);
    if (tokens.length === 0) setTyped(value);
    else {
      // What a filter finds is below the offers.
      combobox.closeDropdown();
      setTyped([rest, open && `${open.key}:${open.value}`].filter(Boolean).join(' '));
      void apply(tokens);
    }
    if (isComplete) search(rest);
    else soon(rest);
  };
  const options = useOptions(typed, fixed);
  const submit = (option: string) => {
    const [key = '', ...value] = option.split(':');
    const { words: rest, open } = parseSearch(typed);
    const kept = open ? rest : withoutLast(typed);
    if (value.join(':') === '') {
      setTyped([kept, `${key}:`].filter(Boolean).join(' '));
      return;
    }
    combobox.closeDropdown();
    setTyped(rest);
    void apply([{ key: key as Key, value: value.join(':') }]);
    search(rest);
  };
  const chips = KEYS.filter((key) => key !== fixed && filters.get(key) !== '');
  return (
    <Combobox store={combobox} onOptionSubmit={submit}>
      <Combobox.DropdownTarget>
        <PillsInput className="search" onClick={() => combobox.openDropdown()} error={problem}>
          <Pill.Group>
            {chips.map((key) => (
              <Chip key={key} of={key} filters={filters} />
            ))}
            {LINKED.map(
              (key) => filters.get(key) !== '' && <Chip key={key} of={key} filters={filters} />,
            )}
            <Combobox.EventsTarget>
              <PillsInput.Field
                data-search
                aria-label={words.field}
                placeholder={chips.length === 0 ? words.placeholder : ''}
                value={typed}
                spellCheck={false}
                onFocus={() => combobox.openDropdown()}
                onBlur={() => {
                  combobox.closeDropdown();
                  search(parseSearch(typed).words);
                }}
                onChange={(event) => {
                  combobox.openDropdown();
                  combobox.resetSelectedOption();
                  take(event.currentTarget.value, false);
                }}
                onKeyDown={(event) => {
                  const isChoosing =
                    combobox.dropdownOpened && combobox.getSelectedOptionIndex() !== -1;
                  if (event.key === 'Enter' && !isChoosing) {
                    event.preventDefault();
                    combobox.closeDropdown();
                    take(typed, true);
                  }
                  const lastChip = chips.at(-1);
                  if (event.key === 'Backspace' && typed === '' && lastChip !== undefined) {
                    event.preventDefault();
                    filters.set(lastChip, '');
                  }
                }}
              />
            </Combobox.EventsTarget>
          </Pill.Group>
        </PillsInput>
      </Combobox.DropdownTarget>
      <Combobox.Dropdown hidden={options.length === 0}>
        <Combobox.Options aria-label={words.offers} mah={320} className="offers">
          {options.map(({ value, code, says }) => (
            <Combobox.Option key={value} value={value}>
              <code>{code}</code>
              {says !== '' && (
                <Text size="xs" className="quiet" span>
                  {says}
                </Text>
              )}
            </Combobox.Option>
          ))}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}

/** A chart or a number that leads here sets these, and nobody types them. */
const LINKED = ['endedSince', 'endedUntil', 'counted'] as const;

function Chip({ of: key, filters }: { of: Key | (typeof LINKED)[number]; filters: Filters }) {
  const value = filters.get(key);
  const kind = kindOf(key);
  const entries = useEntries(kind ?? 'sources', kind === undefined ? [] : [value]);
  const isTime = /T\d\d:/.test(value) && !Number.isNaN(Date.parse(value));
  const shown = entries.get(value)?.name ?? (isTime ? absolute(value, Date.now()) : value);
  return (
    <Pill
      withRemoveButton
      onRemove={() => filters.set(key, '')}
      removeButtonProps={{
        'aria-label': words.remove(key, shown),
        // The component hides it, because Backspace does the same to the last chip.
        'aria-hidden': false,
        tabIndex: 0,
      }}
    >
      <code>{key}:</code> <bdi>{shown}</bdi>
    </Pill>
  );
}

function kindOf(key: string): EntryKind | undefined {
  if (key === 'destination') return 'destinations';
  return key === 'source' ? 'sources' : undefined;
}

const PROBLEMS: Readonly<Record<Problem, string>> = words.problems;

/** Returns a filter as the address has it: a name becomes the id of its entry. */
async function resolved(token: Token): Promise<Token | { problem: string }> {
  const good = checked(token);
  if ('problem' in good) return { problem: PROBLEMS[good.problem] };
  const kind = kindOf(good.key);
  if (kind === undefined) return good;
  const query = { q: good.value, limit: 20 };
  const { data } = await call<'GET /destinations' | 'GET /sources'>(`GET /${kind}`, { query });
  const wanted = good.value.toLowerCase();
  const entry =
    data.data.find(({ id, name }) => id === good.value || name.toLowerCase() === wanted) ??
    data.data[0];
  return entry ? { key: good.key, value: entry.id } : { problem: words.nobodyNamed(good.value) };
}

interface Option {
  /** `key:` or `key:value` */
  value: string;
  code: string;
  says: string;
}

const KEY_WORDS: Readonly<Record<Key, string>> = words.keys;

/** Returns what may follow the text: the values of the last filter, or filters. */
function useOptions(typed: string, fixed: Key | undefined): Option[] {
  const { open } = parseSearch(typed);
  const kind = kindOf(open?.key ?? '');
  const entries = useEntriesWith(kind ?? 'sources', open?.value ?? '', kind !== undefined) ?? [];
  if (open === undefined) {
    const begun = typed.endsWith(' ') ? '' : (typed.split(/\s/).at(-1) ?? '').toLowerCase();
    return KEYS.filter((key) => key !== fixed && key.startsWith(begun)).map((key) => ({
      value: `${key}:`,
      code: `${key}:`,
      says: KEY_WORDS[key],
    }));
  }
  const { key, value } = open;
  const those = (values: readonly string[], say: (value: string) => string): Option[] =>
    values
      .filter((each) => each.startsWith(value.toLowerCase()))
      .map((each) => ({ value: `${key}:${each}`, code: each, says: say(each) }));
  if (kind !== undefined) {
    return entries.map(({ id, name }) => ({ value: `${key}:${id}`, code: name, says: '' }));
  }
  const none = () => '';
  if (key === 'status') return those(FILTER_STATUSES, stateInWords);
  if (key === 'type') return those(TYPES, none);
  if (key === 'code') return those(CODES, none);
  return key === 'since' || key === 'until' ? those(SPANS, (span) => words.ago(span)) : [];
}

function withoutLast(typed: string): string {
  return typed.replace(/\S*$/, '').trim();
}
