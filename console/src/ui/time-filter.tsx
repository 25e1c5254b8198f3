import { NativeSelect, Text, TextInput } from '@mantine/core';
import { isoOfLocal, localOfIso } from '../lib/labels';
import { timeOf } from '../lib/times';
import { type Filters } from './filters';
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

/** Several fields, which their place arranges. Those of deliveries have no labels beside them. */
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
  const isLabelled = of === 'changes';
  return (
    <>
      <NativeSelect
        {...named(words.time, isLabelled)}
        data={options}
        value={shown}
        onChange={(event) => choose(event.target.value)}
      />
      {shown === BETWEEN && (
        <Between
          filters={filters}
          from={{ name: 'since', label: from }}
          before={{ name: 'until', label: before }}
          isLabelled={isLabelled}
        />
      )}
      {shown === ENDED && (
        <Between
          filters={filters}
          from={{ name: 'endedSince', label: words.endedFrom }}
          before={{ name: 'endedUntil', label: words.endedBefore }}
          isLabelled={isLabelled}
        />
      )}
    </>
  );
}

function named(label: string, isLabelled: boolean) {
  return isLabelled ? { label } : { 'aria-label': label };
}

interface BetweenProps {
  filters: Filters;
  from: { name: string; label: string };
  before: { name: string; label: string };
  isLabelled: boolean;
}

function Between({ filters, from, before, isLabelled }: BetweenProps) {
  return (
    <>
      <Moment filters={filters} {...from} isLabelled={isLabelled} />
      <Moment filters={filters} {...before} isLabelled={isLabelled} />
      <Text size="xs" className={isLabelled ? 'quiet level' : 'quiet'}>
        {Intl.DateTimeFormat().resolvedOptions().timeZone}
      </Text>
    </>
  );
}

interface MomentProps {
  filters: Filters;
  name: string;
  label: string;
  isLabelled: boolean;
}

function Moment({ filters, name, label, isLabelled }: MomentProps) {
  const value = filters.get(name);
  return (
    <TextInput
      {...named(label, isLabelled)}
      type="datetime-local"
      value={value === '' ? '' : localOfIso(timeOf(value, Date.now()))}
      onChange={(event) => filters.set(name, isoOfLocal(event.target.value) ?? '')}
    />
  );
}
