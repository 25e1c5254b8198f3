import { SERVICES } from '../../../bin/service-list';
import { ratio } from '../arithmetic';
import { type Column, first, micros, type Row, rows } from './columns';
import { type BatchedFigure, type Round } from './figures';

/** The rows for batches of events. Pure. */

const EVERYTHING = [...SERVICES, 'broker'];
const PER_EVENT = 'CPU-µs/event';

const KINDS = ['single', 'batched'] as const;

export function batchedRows(rounds: readonly Round[]): Row[] {
  const maxEvents = first(rounds, ({ batched }) => batched)?.maxEvents;
  if (maxEvents === undefined) return [];
  const scopes: [title: string, of: 'delivery' | 'all', names: string[]][] = [
    ['delivery alone', 'delivery', ['delivery']],
    ['delivery alone with the broker', 'delivery', ['delivery', 'broker']],
    ['all services', 'all', [...SERVICES]],
    ['all services with the broker', 'all', EVERYTHING],
    ['delivery among all services', 'all', ['delivery']],
  ];
  const costs = scopes.flatMap(([title, of, names]) =>
    KINDS.flatMap((kind) => {
      const cost = (figure: BatchedFigure, which: (typeof KINDS)[number]) =>
        micros(figure[of][which], ...names);
      const columns: Column<BatchedFigure>[] = [['', PER_EVENT, (figure) => cost(figure, kind)]];
      if (kind === 'batched') {
        columns.push(['', '× single POSTs', (f) => ratio(cost(f, kind), cost(f, 'single'))]);
      }
      return rows(`${title}, ${nameOf(kind, maxEvents)}`, ({ batched }) => batched, columns);
    }),
  );
  const sizes = rows(`${nameOf('batched', maxEvents)}: `, ({ batched }) => batched, [
    ['delivery alone', 'events/POST', (f) => f.delivery.batched.eventsPerPost],
    ['all services', 'events/POST', (f) => f.all.batched.eventsPerPost],
  ]);
  return [...costs, ...sizes];
}

function nameOf(kind: (typeof KINDS)[number], maxEvents: number): string {
  return kind === 'single' ? 'single POSTs' : `batches of up to ${String(maxEvents)} events`;
}
