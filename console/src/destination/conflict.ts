import { same } from './draft';

/** Two people changed one entry: what each did, field by field. Pure. */

/** Field → what people call it. */
export type FieldNames = Readonly<Record<string, string>>;

export const DESTINATION_FIELDS: FieldNames = {
  name: 'Name',
  sources: 'Sources',
  webhooks: 'URLs and headers',
  types: 'Types',
  filter: 'Filter',
  maxPerSecond: 'Requests per second',
  switchOffAfter: 'Switched off after',
  enabled: 'Switched on',
  paused: 'Paused',
  hasSharedSecret: 'Secret',
};

export const ALERT_FIELDS: FieldNames = {
  enabled: 'Alerts are sent',
  webhooks: 'URLs and headers',
  failingFor: 'Failing after',
  deadLettersEvery: 'Dead-letter alerts at most every',
  switchOffAfter: 'Switched off after',
  hasSharedSecret: 'Secret',
};

const DEFINITION_FIELDS: FieldNames = {
  name: 'Name',
  sources: 'Sources',
  destinations: 'Destinations',
  syncEvery: 'Sync interval',
};

export const AUDIENCE_FIELDS: FieldNames = { ...DEFINITION_FIELDS, condition: 'Condition' };

export const TRAIT_FIELDS: FieldNames = {
  ...DEFINITION_FIELDS,
  compute: 'Value',
  event: 'Event',
  property: 'Property',
  window: 'Within the last',
};

/** What stands for a field that is not set. */
const UNSET: FieldNames = {
  sources: 'all',
  window: 'ever',
  types: 'all',
  filter: 'none',
  maxPerSecond: 'no limit',
  switchOffAfter: 'not set',
};

export interface Difference {
  field: string;
  name: string;
  /** as this page had read it */
  before: string;
  theirs: string;
  /** undefined where only they changed it */
  mine: string | undefined;
}

interface Versions {
  /** what this page had read */
  before: object;
  /** how it is now */
  theirs: object;
  /** what this page wanted to change */
  patch: object;
}

export function differences(names: FieldNames, { before, theirs, patch }: Versions): Difference[] {
  return Object.entries(names).flatMap(([field, name]) => {
    const [was, is] = [valueOf(before, field), valueOf(theirs, field)];
    const mine = wanted(field, patch);
    if (same(was, is) && mine === undefined) return [];
    return [{ field, name, before: say(field, was), theirs: say(field, is), mine }];
  });
}

function valueOf(entry: object, field: string): unknown {
  return (entry as Record<string, unknown>)[field];
}

function wanted(field: string, patch: object): string | undefined {
  if (field === 'hasSharedSecret') return valueOf(patch, 'sharedSecret') === undefined ? undefined : 'a new one';
  const value = valueOf(patch, field);
  return value === undefined ? undefined : say(field, value);
}

/** Values are for people; those of headers are never shown, whoever wrote them. */
function say(field: string, value: unknown): string {
  if (value === null || value === undefined) return UNSET[field] ?? 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(sayItem).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function sayItem(item: unknown): string {
  if (typeof item !== 'object' || item === null) return String(item);
  const { url, headers } = item as { url: string | null; headers?: Record<string, unknown> };
  const names = Object.keys(headers ?? {});
  return `${url ?? 'unreadable'}${names.length === 0 ? '' : ` (${names.join(', ')})`}`;
}
