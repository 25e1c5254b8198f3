import { type ConfigRecord, type Destination, type Kind } from '../model/config';

/**
 * The part of `config` that a service holds in memory: with thousands of destinations, the rest
 * costs time and memory.
 */
export interface ConfigPart {
  /** kinds of entries that the service never reads */
  skips: ReadonlySet<Kind>;
  /** returns the record without fields that the service never reads */
  trim(record: ConfigRecord): ConfigRecord;
}

const untrimmed = (record: ConfigRecord) => record;

export const WHOLE: ConfigPart = { skips: new Set(), trim: untrimmed };

/** The parts of services that do not hold all of `config`, by the name of the service. */
export const PARTS: Readonly<Partial<Record<string, ConfigPart>>> = {
  ingest: {
    skips: new Set(['destination', 'token', 'audience', 'computed_trait']),
    trim: untrimmed,
  },
  router: { skips: new Set(['token', 'audience', 'computed_trait']), trim: withoutRequests },
  delivery: { skips: new Set(['source', 'token', 'audience', 'computed_trait']), trim: untrimmed },
  audiences: { skips: new Set(['destination', 'token']), trim: untrimmed },
};

/** Removes what only a request to a destination needs, such as its URLs and secrets. */
function withoutRequests(record: ConfigRecord): ConfigRecord {
  if (record.kind !== 'destination' || !record.data) return record;
  const {
    secrets: _,
    signature: __,
    proxy: ___,
    alerts: ____,
    ...routed
  } = record.data as Destination;
  return { ...record, data: { ...routed, webhooks: [] } };
}
