import { Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { compact } from '../../../shared/collections/defined';
import { isoOfLocal, localOfIso } from '../lib/labels';
import { type Filters } from '../ui/filters';
import { timeOf } from './search';
import { text } from '../texts';

const words = text.watch.time;

/** The time of acceptance: a span that ends now, or two times in the time zone of the browser. */

const SPANS = [
  { value: '', label: words.any },
  { value: '15m', label: words.quarter },
  { value: '1h', label: words.hour },
  { value: '24h', label: words.day },
  { value: '7d', label: words.week },
];
const BETWEEN = 'between';

export function TimeFilter({ filters }: { filters: Filters }) {
  const [since, until] = [filters.get('since'), filters.get('until')];
  const isSpan = until === '' && SPANS.some(({ value }) => value === since);
  const choose = (value: string) => {
    const start = value === BETWEEN ? timeOf('24h', Date.now()) : value;
    filters.set('until', '');
    filters.set('since', start);
  };
  return (
    <Group gap="xs" align="center">
      <NativeSelect
        aria-label={words.accepted}
        data={compact([...SPANS, { value: BETWEEN, label: words.between }])}
        value={isSpan ? since : BETWEEN}
        onChange={(event) => choose(event.target.value)}
      />
      {!isSpan && (
        <>
          <Moment filters={filters} name="since" label={words.from} />
          <Moment filters={filters} name="until" label={words.before} />
          <Text size="xs" className="quiet">
            {Intl.DateTimeFormat().resolvedOptions().timeZone}
          </Text>
        </>
      )}
    </Group>
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
