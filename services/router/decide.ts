import { defined } from '../../shared/collections/defined';
import { type ConfigReader, type ConfigView, type Entry } from '../../shared/config/types';
import { cutBody, cutMessage, type CutMessage } from '../../shared/model/cut-body';
import { renderBody } from '../../shared/model/webhook-body';
import { type Renderer, rendererOf } from '../../shared/render/render-request';
import { renderFailedRecords, type Unrendered } from '../../shared/render/render-failed';
import { tooLargeRecords } from '../../shared/render/too-large';
import { type Destination, type Source } from '../../shared/model/config';
import { decodeDelivery, encodeDelivery } from '../../shared/model/delivery';
import { firstDelivery, windowStart } from '../../shared/model/first-delivery';
import { type MessageHeaders, parseMessage, type Rejected } from '../../shared/model/message-codec';
import { FORMAT_HEADER } from '../../shared/model/record-format';
import { type RejectedRecord } from '../../shared/model/rejected-calls';
import { type Message } from '../../shared/model/message';
import { route, type Routed, wantsWebhooks } from '../../shared/model/route';
import { filtersOf, type OnCostly } from '../../shared/cel/compile';
import { type InRecord, type OutRecord } from '../../shared/kafka/port';
import { MESSAGES, REJECTED, WEBHOOKS } from '../../shared/kafka/topics';

/** Decides what becomes of a record of `messages`: pure, without a clock or Kafka. */

/** Configuration that the decision depends on. */
export interface Routing {
  config: Pick<ConfigView, 'source' | 'destinationsOf' | 'unreadableDestinationsOf'>;
  /** time after acceptance in which a delivery is retried */
  windowMs: number;
  /** called for each filter that takes much work */
  onCostlyFilter?: OnCostly;
}

export type Decision =
  | Deliver
  | { kind: 'dropped'; reason: 'no_destination' | 'blocked' | 'filtered'; filters: Filters }
  /**
   * a destination whose last record this process cannot read may want the message: the caller must
   * wait for it
   */
  | { kind: 'destination_unreadable' }
  /**
   * not known here (yet): the caller must read `config` to its end before it drops the accepted
   * message
   */
  | { kind: 'unknown_source' }
  /** permanently unreadable: the caller writes it to `messages.rejected` */
  | Rejected;

export interface Deliver {
  kind: 'deliver';
  records: OutRecord[];
  /** the deliveries that have no body */
  unrendered: readonly Unrendered[];
  filters: Filters;
}

/** The reason why a decision must not be performed yet. */
export type Doubt = 'source_unreadable' | 'destination_unreadable' | 'config_behind';

/** The deliveries that filters stopped, and the filters that failed. */
export type Filters = Pick<Routed, 'filtered' | 'failed'>;

/** @param record the message: its value is JSON */
export function decide(
  head: MessageHeaders,
  record: Pick<InRecord, 'key' | 'value'>,
  routing: Routing,
): Decision {
  const connected = connectedBy(routing.config.destinationsOf(head.sourceId));
  const known = readMessage(head, record, connected);
  if (typeof known === 'string') return rejected(known);
  const { message, whole } = known;
  const source = routing.config.source(head.sourceId);
  if (!source) return { kind: 'unknown_source' };
  const ask = whole ? filtersOf(whole, connected.filters, routing.onCostlyFilter) : UNFILTERED;
  const { destinations, blocked, ...filters } = route(
    message,
    source.data,
    connected.destinations,
    ask,
  );
  if (blocked) return { kind: 'dropped', reason: 'blocked', filters };
  const unreadable = routing.config.unreadableDestinationsOf(head.sourceId);
  if (unreadable.length > 0 && source.data.enabled && wantsWebhooks(message)) {
    const routed = new Set(destinations.map(({ id }) => id));
    if (unreadable.some((id) => !routed.has(id))) return { kind: 'destination_unreadable' };
  }
  if (destinations.length === 0) {
    return {
      kind: 'dropped',
      reason: filters.filtered > 0 ? 'filtered' : 'no_destination',
      filters,
    };
  }
  const startsAt = windowStart(head);
  const made = destinations.map((destination) => {
    const expiresAt = startsAt + (destination.retry?.windowMs ?? routing.windowMs);
    const version = connected.versions.get(destination);
    return {
      destination,
      ...firstDelivery({
        head,
        message,
        expiresAt,
        destination,
        ...defined({ version }),
      }),
    };
  });
  return { kind: 'deliver', filters, ...rendered(made, known, head.sourceId, connected.requests) };
}

/** A message as far as its destinations need it. */
type KnownMessage = ParsedMessage | UnparsedMessage;

interface ParsedMessage {
  message: Message;
  whole: Message;
}

/** No destination has a filter or its own request, and the body can be cut off. */
interface UnparsedMessage extends CutMessage {
  whole?: undefined;
}

/** @returns the message, or the reason why it is invalid */
function readMessage(
  head: MessageHeaders,
  record: Pick<InRecord, 'key' | 'value'>,
  { filters, requests }: Connected,
): KnownMessage | string {
  const cut = filters + requests > 0 ? undefined : cutMessage(head, record);
  if (cut) return cut;
  const whole = parseMessage(record.value);
  return typeof whole === 'string' ? whole : { message: whole, whole };
}

const UNFILTERED = () => true;

/** A delivery before it has a body. */
type Made = ReturnType<typeof firstDelivery> & { destination: Destination };

/** Deliveries with the default request share one body, which is rendered once. */
function rendered(
  made: readonly Made[],
  known: KnownMessage,
  sourceId: string,
  requests: number,
): { records: OutRecord[]; unrendered: readonly Unrendered[] } {
  let shared: Buffer | undefined;
  let render: Renderer | undefined;
  let unrendered: readonly Unrendered[] = NONE;
  const records: OutRecord[] = [];
  for (const { destination, delivery, key } of made) {
    if (destination.request === undefined || !known.whole) {
      shared ??= defaultBody(known);
      records.push({ topic: WEBHOOKS, key, value: shared, headers: encodeDelivery(delivery) });
      continue;
    }
    const result = (render ??= rendererOf(known.whole, sourceId, requests))(destination);
    if (result.kind === 'failed') unrendered = [...unrendered, { delivery, key, failure: result }];
    else {
      const headers = encodeDelivery(Object.assign(delivery, result.head));
      records.push({ topic: WEBHOOKS, key, value: result.body, headers });
    }
  }
  return { records, unrendered };
}

const NONE: readonly Unrendered[] = [];

/** Returns the default body of a message, in a new buffer. */
function defaultBody(known: KnownMessage): Buffer {
  return known.whole ? Buffer.from(renderBody(known.whole)) : cutBody(known);
}

/**
 * Returns the records of a message: its deliveries, and a dead letter for each destination whose
 * body failed.
 */
export function outputOf(
  record: InRecord,
  { records, unrendered }: Deliver,
  nowMs: number,
): OutRecord[] {
  if (unrendered.length === 0) return records;
  return [...records, ...unrendered.flatMap((each) => renderFailedRecords(each, record, nowMs))];
}

/**
 * Returns the records that end a delivery whose first record Kafka refuses for good; undefined for
 * other output.
 * @param from the record of its message
 */
export function refusedRecords(
  { partition, offset }: Pick<InRecord, 'partition' | 'offset'>,
  { topic, key, headers = {} }: OutRecord,
  nowMs: number,
): OutRecord[] | undefined {
  const decoded = topic === WEBHOOKS ? decodeDelivery(headers) : undefined;
  if (decoded?.kind !== 'delivery') return undefined;
  return tooLargeRecords(decoded.delivery, { topic: MESSAGES, partition, offset, key }, nowMs);
}

/** A source's destinations, prepared for routing. */
interface Connected {
  destinations: readonly Destination[];
  versions: ReadonlyMap<Destination, number>;
  /** number of destinations with a filter */
  filters: number;
  /** number of destinations with `request` */
  requests: number;
}

/** Keyed by the list from `config`, which is a new one after each change. */
const known = new WeakMap<readonly Entry<Destination>[], Connected>();

function connectedBy(entries: readonly Entry<Destination>[]): Connected {
  let connected = known.get(entries);
  if (!connected) {
    const destinations = entries.map(({ data }) => data);
    const filters = destinations.filter(({ filter }) => filter !== undefined).length;
    const requests = destinations.filter(({ request }) => request !== undefined).length;
    const versions = new Map(entries.map(({ data, version }) => [data, version]));
    connected = { destinations, versions, filters, requests };
    known.set(entries, connected);
  }
  return connected;
}

function rejected(reason: string): Rejected {
  return { kind: 'rejected', reason };
}

/**
 * Returns why a decision must not be performed yet, because a destination may want the message;
 * undefined if it may.
 * @param knowledge `current`: `config` is known as of the time when the message was read
 */
export function doubtOf(
  decision: Decision,
  sourceId: string,
  { config, current }: { config: Pick<ConfigReader, 'source' | 'isUnreadable'>; current: boolean },
): Doubt | undefined {
  if (decision.kind === 'destination_unreadable') return decision.kind;
  if (decision.kind !== 'unknown_source' && decision.kind !== 'dropped') return undefined;
  // A newer router can read the source, so its messages wait for that router.
  if (config.isUnreadable('source', sourceId) && isOfSource(decision, config.source(sourceId))) {
    return 'source_unreadable';
  }
  return current ? undefined : 'config_behind';
}

/** Returns whether the source is the reason that a message has no destination. */
function isOfSource(decision: Decision, source: Entry<Source> | undefined): boolean {
  return !source?.data.enabled || (decision.kind === 'dropped' && decision.reason === 'blocked');
}

/** The part of a record that is written to `messages.rejected`. */
export interface SetAside {
  source: string;
  value: Buffer | null;
}

/** The debugger shows only the beginning of an unreadable record. */
const KEPT_TEXT_LENGTH = 4_096;
const UNREADABLE = 'unreadable_message';

/** Returns the record of `messages.rejected` that says why a record became no delivery. */
export function rejectedRecord(
  { partition, offset }: InRecord,
  { source, value: kept }: SetAside,
  { reason, nowMs }: { reason: string; nowMs: number },
): OutRecord {
  const text = kept?.toString() ?? '';
  const value: RejectedRecord = {
    at: new Date(nowMs).toISOString(),
    source,
    code: UNREADABLE,
    message:
      `A record of the topic messages (partition ${partition}, offset ${offset}) was set ` +
      `aside: ${reason}.`,
    call: text.slice(0, KEPT_TEXT_LENGTH),
  };
  if (text.length > KEPT_TEXT_LENGTH) value.truncated = true;
  return {
    topic: REJECTED,
    key: source,
    value: JSON.stringify(value),
    headers: { format: FORMAT_HEADER, source },
  };
}
