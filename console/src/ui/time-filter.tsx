import { NativeSelect, Text, TextInput } from '@mantine/core';
import { isoOfLocal, localOfIso } from '../lib/labels';
import { timeOf } from '../lib/times';
import { type Filters, type Named } from './filters';
import { text } from '../texts';

const words = text.ui.timeFilter;

/**
 * The time of a list, as a span that ends now or between two times. Deliveries are found by their
 * acceptance, or by their end between two times. Times are in the time zone of the browser.
 */

const SPANS = [
  { value: '', label: words.any },
  { value: '15m', label: words.quarter },
  { value: '1h', label: words.hour },
  { value: '24h', label: words.day },
  { value: '7d', label: words.week },
];
const BETWEEN = 'between';
const ENDED = 'ended';
const NONE = {
  since: '',
  until: '',
  endedSince: '',
  endedUntil: '',
};

interface Props {
  filters: Filters;
  of: 'deliveries' | 'changes';
}

/** Several fields, which their place arranges: beside a search their labels are not visible. */
export function TimeFilter({ filters, of }: Props) {
  const [since, until] = [filters.get('since'), filters.get('until')];
  const isSpan = until === '' && SPANS.some(({ value }) => value === since);
  const isEnded = filters.get('endedSince') !== '' || filters.get('endedUntil') !== '';
  const shown = isEnded ? ENDED : isSpan ? since : BETWEEN;
  const choose = (value: string) => {
    const dayAgo = timeOf('24h', Date.now());
    if (value === BETWEEN) filters.setAll({ ...NONE, since: dayAgo });
    else if (value === ENDED) filters.setAll({ ...NONE, endedSince: dayAgo });
    else filters.setAll({ ...NONE, since: value });
  };
  const { between, from, before } = words[of];
  const options = [...SPANS, { value: BETWEEN, label: between }];
  if (of === 'deliveries') options.push({ value: ENDED, label: words.endedBetween });
  return (
    <>
      <NativeSelect
        label={words.time}
        data={options}
        value={shown}
        onChange={(event) => choose(event.target.value)}
      />
      {shown === BETWEEN && (
        <Between
          filters={filters}
          from={{ name: 'since', label: from }}
          before={{ name: 'until', label: before }}
        />
      )}
      {shown === ENDED && (
        <Between
          filters={filters}
          from={{ name: 'endedSince', label: words.endedFrom }}
          before={{ name: 'endedUntil', label: words.endedBefore }}
        />
      )}
    </>
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
      <Text size="xs" className="quiet zone">
        {Intl.DateTimeFormat().resolvedOptions().timeZone}
      </Text>
    </>
  );
}

function Moment({ filters, name, label }: Named) {
  const value = filters.get(name);
  return (
    <TextInput
      label={label}
      type="datetime-local"
      value={value === '' ? '' : localOfIso(timeOf(value, Date.now()))}
      onChange={(event) => filters.set(name, isoOfLocal(event.target.value) ?? '')}
    />
  );
}
