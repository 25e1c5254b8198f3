import { defined } from '../../../shared/collections/defined';
import { type Count, LATENCY_BOUNDS, metrics, only } from '../../../shared/telemetry/metrics';
import { ODDITIES, type Oddity } from '../../../shared/model/oddities';
import {
  CANCEL_REASONS,
  DEAD_REASONS,
  DIVERT_REASONS,
  RETRY_REASONS,
} from '../../../shared/model/reasons';
import { type UrlAttempt } from '../../../shared/model/attempt-events';
import { type LaneCensus } from '../lanes/registry';

/** Defines the metrics of delivery. */

/**
 * Seconds. Deliveries without a retry take less than ten; the larger bounds match the tiers and the
 * window.
 */
const DELIVERY_BOUNDS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 1_800, 3_600, 7_200,
  14_400,
];

const requests = metrics.histogram(
  {
    name: 'http.client.request.duration',
    help:
      'Duration of one request to one URL. No label names the host: it would name every ' +
      'customer.',
    unit: 's',
    labels: {
      'http.request.method': '`POST`',
      'http.response.status_code': 'absent without a response',
      'error.type':
        'absent for a 2xx; otherwise the status, `timeout`, `dns`, `connection`, `tls`, ' +
        '`token`, `forbidden_address`, `invalid_url`',
    },
  },
  LATENCY_BOUNDS,
);
const durations = metrics.histogram(
  {
    name: 'waypost.delivery.duration',
    help:
      'Time from acceptance at ingest to the 2xx. `later`: it took more than one attempt. ' +
      'Replays and test sends do not count.',
    unit: 's',
    labels: { attempt: '`first`, `later`' },
  },
  DELIVERY_BOUNDS,
);
const attempts = metrics.counter({
  name: 'waypost.attempts',
  help: 'Attempts that ended. One attempt may be several requests.',
  labels: { outcome: '`delivered`, `retry`, `rejected`' },
});
const delivered = metrics.counter({
  name: 'waypost.deliveries.delivered',
  help: 'Deliveries that ended with a 2xx.',
});
const handshakes = metrics.counter({
  name: 'waypost.tls.handshakes',
  help:
    'TLS connections that were opened. A kept connection needs none; `true`: it continued an ' +
    'earlier session.',
  labels: { resumed: '`true`, `false`' },
});
const tokens = metrics.counter({
  name: 'waypost.tokens.requests',
  help: 'Requests for OAuth2 tokens of endpoints.',
  labels: { outcome: '`obtained`, `failed`' },
});
const oddities = metrics.counter({
  name: 'waypost.response.oddities',
  help:
    'Responses whose status counted although something about them was odd, by what it was. ' +
    '`extra_bytes` also counts bytes on a connection without a request.',
  labels: { kind: ODDITIES.map((kind) => `\`${kind}\``).join(', ') },
});
const turns = metrics.counter({
  name: 'waypost.circuit.transitions',
  help: 'Circuits that opened or closed again.',
  labels: { state: '`open`, `closed`' },
});

/**
 * Creates a counter with all of its series at the start, so that the first event of a kind shows as
 * an increase.
 */
function countersByReason(name: string, help: string, reasons: readonly string[]) {
  const labels = { reason: reasons.map((reason) => `\`${reason}\``).join(', ') };
  const counter = metrics.counter({ name, help, labels });
  for (const reason of reasons) counter.of({ reason });
  return counter;
}

export const deliveryMetrics = {
  attempts: {
    delivered: attempts.of({ outcome: 'delivered' }),
    retry: attempts.of({ outcome: 'retry' }),
    rejected: attempts.of({ outcome: 'rejected' }),
  },
  delivered: delivered.of(),
  retried: countersByReason(
    'waypost.deliveries.retried',
    'Deliveries sent to a tier after a failed attempt.',
    RETRY_REASONS,
  ),
  diverted: countersByReason(
    'waypost.deliveries.diverted',
    'Deliveries sent to a tier without an attempt.',
    DIVERT_REASONS,
  ),
  dead: countersByReason(
    'waypost.deliveries.dead',
    'Dead letters: deliveries that were given up.',
    DEAD_REASONS,
  ),
  cancelled: countersByReason(
    'waypost.deliveries.cancelled',
    'Deliveries that were cancelled, by the reason.',
    CANCEL_REASONS,
  ),
  first: durations.of({ attempt: 'first' }),
  later: durations.of({ attempt: 'later' }),
  handshakes: {
    resumed: handshakes.of({ resumed: 'true' }),
    full: handshakes.of({ resumed: 'false' }),
  },
  resent: metrics
    .counter({
      name: 'waypost.requests.resent',
      help: 'Requests sent again over a new connection, because a kept one broke before a response.',
    })
    .of(),
  oddities: Object.fromEntries(ODDITIES.map((kind) => [kind, oddities.of({ kind })])) as Record<
    Oddity,
    Count
  >,
  tokens: {
    obtained: tokens.of({ outcome: 'obtained' }),
    failed: tokens.of({ outcome: 'failed' }),
  },
  opened: turns.of({ state: 'open' }),
  closed: turns.of({ state: 'closed' }),
};

/** Status codes with a series each, at most a few hundred. Other numbers are not HTTP. */
const STATUS = { from: 100, to: 599 };
const byStatus = new Map<number, ReturnType<typeof requests.of>>();

/** @param error the code of `UrlError`, if there was no response */
function recordDuration(status: number | undefined, error: string, durationMs: number): void {
  if (status === undefined) {
    requests.of({ ...POST, 'error.type': error }).record(durationMs / 1_000);
    return;
  }
  let series = byStatus.get(status);
  if (!series) byStatus.set(status, (series = requests.of(statusLabels(status))));
  series.record(durationMs / 1_000);
}

/** Counts the end of a request to one URL. */
export function requestEnded({ status, error, durationMs, resent, oddities }: UrlAttempt): void {
  recordDuration(status, error?.code ?? '', durationMs);
  if (oddities) for (const kind of oddities) deliveryMetrics.oddities[kind].value++;
  if (resent) deliveryMetrics.resent.value++;
}

const POST = { 'http.request.method': 'POST' };

function statusLabels(status: number) {
  const code = status >= STATUS.from && status <= STATUS.to ? String(status) : 'other';
  const failed = status < 200 || status > 299;
  return {
    ...POST,
    'http.response.status_code': code,
    ...defined({ 'error.type': failed ? code : undefined }),
  };
}

/** Registers the gauges, which are read on export only. */
export function observeDelivery(parts: {
  deliverer: { readonly fill: Record<string, number> };
  lanes: { census(): LaneCensus };
  sender: {
    readonly inFlight: number;
    readonly connections: { readonly inUse: number; readonly idle: number };
  };
  sockets: number;
}): void {
  const { deliverer, lanes, sender, sockets } = parts;
  const gauge = (name: string, help: string, read: () => number) =>
    metrics.gauge({ name, help }, () => only(read()));
  gauge('waypost.requests.in_flight', 'POSTs that wait for a response.', () => sender.inFlight);
  gauge(
    'waypost.sockets.limit',
    'Most requests that may wait for a response. `waypost_requests_in_flight / ' +
      'waypost_sockets_limit` is its fill.',
    () => sockets,
  );
  metrics.gauge(
    {
      name: 'waypost.connections',
      help: 'Open connections to endpoints: with a request, or kept for the next one.',
      labels: { state: '`active`, `idle`' },
    },
    () => byState({ active: sender.connections.inUse, idle: sender.connections.idle }),
  );
  gauge('waypost.lanes.queued', 'Deliveries queued in all lanes.', () => lanes.census().queued);
  metrics.gauge(
    {
      name: 'waypost.lanes',
      help: 'Known URLs: without open requests, with open requests, with queued deliveries.',
      labels: { state: '`idle`, `active`, `waiting`' },
    },
    () => byState(lanes.census().lanes),
  );
  metrics.gauge(
    {
      name: 'waypost.circuits',
      help: 'URLs by the state of their circuit in this process.',
      labels: { state: '`closed`, `open`, `recovering`' },
    },
    () => byState(lanes.census().circuits),
  );
  metrics.gauge(
    {
      name: 'waypost.buffer.fill',
      help:
        'Fill of a buffer, 0 to 1: bodies held, outcomes that Kafka has not acknowledged, ' +
        'bodies queued. Partitions pause while one of the first two is at 1.',
      unit: '1',
      labels: { buffer: '`bodies`, `outcomes`, `lanes`' },
    },
    () =>
      Object.entries({ ...deliverer.fill, lanes: lanes.census().fill }).map(([buffer, value]) => ({
        labels: { buffer },
        value,
      })),
  );
}

function byState(counts: Record<string, number>) {
  return Object.entries(counts).map(([state, value]) => ({ labels: { state }, value }));
}
