import { Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { isoOfLocal, localOfIso } from '../lib/labels';
import { type Filters } from '../ui/filters';
import { timeOf } from './search';
import { text } from '../texts';

const words = text.watch.time;

/**
 * The time of acceptance, as a span that ends now or between two times, or two times of the end. Times
 * are in the time zone of the browser.
 */

const SPANS = [
  { value: '', label: words.any },
  { value: '15m', label: words.quarter },
  { value: '1h', label: words.hour },
  { value: '24h', label: words.day },
  { value: '7d', label: words.week },
];
const ACCEPTED = 'accepted';
const ENDED = 'ended';
const NONE = {
  since: '',
  until: '',
  endedSince: '',
  endedUntil: '',
};

export function TimeFilter({ filters }: { filters: Filters }) {
  const [since, until] = [filters.get('since'), filters.get('until')];
  const isSpan = until === '' && SPANS.some(({ value }) => value === since);
  const isEnded = filters.get('endedSince') !== '' || filters.get('endedUntil') !== '';
  const shown = isEnded ? ENDED : isSpan ? since : ACCEPTED;
  const choose = (value: string) => {
    const dayAgo = timeOf('24h', Date.now());
    if (value === ACCEPTED) filters.setAll({ ...NONE, since: dayAgo });
    else if (value === ENDED) filters.setAll({ ...NONE, endedSince: dayAgo });
    else filters.setAll({ ...NONE, since: value });
  };
  return (
    <Group gap="xs" align="center">
      <NativeSelect
        aria-label={words.time}
        data={[
          ...SPANS,
          { value: ACCEPTED, label: words.between },
          { value: ENDED, label: words.endedBetween },
        ]}
        value={shown}
        onChange={(event) => choose(event.target.value)}
      />
      {shown === ACCEPTED && (
        <Between
          filters={filters}
          from={{ name: 'since', label: words.from }}
          before={{ name: 'until', label: words.before }}
        />
      )}
      {shown === ENDED && (
        <Between
          filters={filters}
          from={{ name: 'endedSince', label: words.endedFrom }}
          before={{ name: 'endedUntil', label: words.endedBefore }}
        />
      )}
    </Group>
  );
}

interface BetweenProps {
  filters: Filters;
  from: { name: string; label: string };
  before: { name: string; label: string };
}

function Between({ filters, from, before }: BetweenProps) {
  return (
    <>
      <Moment filters={filters} {...from} />
      <Moment filters={filters} {...before} />
      <Text size="xs" className="quiet">
        {Intl.DateTimeFormat().resolvedOptions().timeZone}
      </Text>
    </>
  );
}

function Moment({ filters, name, label }: { filters: Filters; name: string; label: string }) {
  const value = filters.get(name);
  return (
    <TextInput
      aria-label={label}
      type="datetime-local"
      value={value === '' ? '' : localOfIso(timeOf(value, Date.now()))}
      onChange={(event) => filters.set(name, isoOfLocal(event.target.value) ?? '')}
    />
  );
}
