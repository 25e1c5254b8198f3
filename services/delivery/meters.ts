import { LATENCY_BOUNDS, metrics, only } from '../../shared/telemetry/metrics';
import { type LaneCensus } from './lanes';

/** What delivery counts. */

/** Seconds: what took no retry is below ten, the rest is a matter of tiers and of the window. */
const DELIVERY_BOUNDS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 1_800, 3_600, 7_200, 14_400,
];

const requests = metrics.histogram(
  { name: 'http.client.request.duration', help: 'One request to one URL.', unit: 's' },
  LATENCY_BOUNDS,
);
const durations = metrics.histogram(
  { name: 'waypost.delivery.duration', help: 'From acceptance to the 2xx.', unit: 's' },
  DELIVERY_BOUNDS,
);
const attempts = metrics.counter({ name: 'waypost.attempts', help: 'Attempts concluded.' });
const delivered = metrics.counter({ name: 'waypost.deliveries.delivered', help: 'Deliveries that ended with a 2xx.' });
const turns = metrics.counter({ name: 'waypost.circuit.turns', help: 'Circuits that opened, or closed again.' });

export const meters = {
  attempts: {
    delivered: attempts.of({ outcome: 'delivered' }),
    retry: attempts.of({ outcome: 'retry' }),
    rejected: attempts.of({ outcome: 'rejected' }),
  },
  delivered: delivered.of(),
  retried: metrics.counter({ name: 'waypost.deliveries.retried', help: 'To a tier after an attempt that failed.' }),
  diverted: metrics.counter({ name: 'waypost.deliveries.diverted', help: 'To a tier without an attempt.' }),
  dead: metrics.counter({ name: 'waypost.deliveries.dead', help: 'Given up.' }),
  cancelled: metrics.counter({ name: 'waypost.deliveries.cancelled', help: 'Their destination is off or gone.' }),
  first: durations.of({ attempt: 'first' }),
  later: durations.of({ attempt: 'later' }),
  opened: turns.of({ state: 'open' }),
  closed: turns.of({ state: 'closed' }),
};

// There from the start, so that the first of a kind is seen as an increase.
for (const reason of ['backoff', 'retry_after']) meters.retried.of({ reason });
const holds = ['paused', 'secrets_unreadable', 'destination_unreadable'];
for (const reason of ['lane_full', 'rate_limited', 'handed_over', 'circuit_open', 'retry_after', ...holds]) {
  meters.diverted.of({ reason });
}
const ends = ['rejected', 'window_closed', 'lane_full', 'rate_limited', 'circuit_open', 'retry_after', 'unreadable'];
for (const reason of ends) meters.dead.of({ reason });
for (const reason of ['destination_disabled', 'destination_deleted']) meters.cancelled.of({ reason });

/** Of statuses there are at most some hundreds: the rest is no HTTP. */
const STATUS = { from: 100, to: 599 };
const byStatus = new Map<number, ReturnType<typeof requests.of>>();

/** One request ended. @param error the code of `UrlError`, where there was no answer */
export function countRequest(status: number | undefined, error: string, durationMs: number): void {
  if (status === undefined) {
    requests.of({ ...POST, 'error.type': error }).record(durationMs / 1_000);
    return;
  }
  let series = byStatus.get(status);
  if (!series) byStatus.set(status, (series = requests.of(statusLabels(status))));
  series.record(durationMs / 1_000);
}

const POST = { 'http.request.method': 'POST' };

function statusLabels(status: number) {
  const code = status >= STATUS.from && status <= STATUS.to ? String(status) : 'other';
  const failed = status < 200 || status > 299;
  return { ...POST, 'http.response.status_code': code, ...(failed ? { 'error.type': code } : {}) };
}

/** What is looked at only when someone asks. */
export function observeDelivery(parts: {
  deliverer: { readonly fill: Record<string, number> };
  lanes: { census(): LaneCensus };
  sender: { readonly inFlight: number };
  sockets: number;
}): void {
  const { deliverer, lanes, sender, sockets } = parts;
  const gauge = (name: string, help: string, read: () => number) => metrics.gauge({ name, help }, () => only(read()));
  gauge('waypost.requests.in_flight', 'POSTs without an answer yet.', () => sender.inFlight);
  gauge('waypost.sockets.limit', 'At most so many at once.', () => sockets);
  gauge('waypost.lanes.queued', 'Deliveries queued in lanes.', () => lanes.census().queued);
  metrics.gauge({ name: 'waypost.lanes', help: 'URLs known.' }, () => byState(lanes.census().lanes));
  metrics.gauge({ name: 'waypost.circuits', help: 'URLs by the state of their circuit.' }, () =>
    byState(lanes.census().circuits),
  );
  metrics.gauge({ name: 'waypost.buffer.fill', help: 'How full, 0 to 1.', unit: '1' }, () =>
    Object.entries({ ...deliverer.fill, lanes: lanes.census().fill }).map(([buffer, value]) => ({
      labels: { buffer },
      value,
    })),
  );
}

function byState(counts: Record<string, number>) {
  return Object.entries(counts).map(([state, value]) => ({ labels: { state }, value }));
}
