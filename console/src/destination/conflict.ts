import { compact } from '../../../shared/collections/defined';
import { same } from './field-values';
import { withoutLogin } from './plan-draft';
import { text } from '../texts';

const words = text.destination.conflict;

/** Compares two edits of the same entry, field by field. Pure. */

/** Field → its label. */
export type FieldNames = Readonly<Record<string, string>>;

const DESTINATION_TEXTS = Object.entries<{ name: string; unset?: string }>(text.destination.fields);

export const DESTINATION_LABELS: FieldNames = Object.fromEntries(
  DESTINATION_TEXTS.map(([field, { name }]) => [field, name]),
);

export const ALERT_LABELS: FieldNames = words.alertFields;

const DEFINITION_FIELDS: FieldNames = words.definitionFields;

export const AUDIENCE_LABELS: FieldNames = { ...DEFINITION_FIELDS, condition: words.condition };

export const TRAIT_LABELS: FieldNames = {
  ...DEFINITION_FIELDS,
  compute: words.value,
  event: words.event,
  property: words.property,
  window: words.withinLast,
};

/** Labels of unset fields. */
const UNSET: FieldNames = {
  ...words.unset,
  ...Object.fromEntries(
    DESTINATION_TEXTS.flatMap(([field, { unset }]) =>
      unset === undefined ? [] : [[field, unset]],
    ),
  ),
};

export interface Difference {
  field: string;
  name: string;
  /** the value that this page had read */
  before: string;
  theirs: string;
  /** undefined if only the other user changed it */
  mine: string | undefined;
}

interface Versions {
  /** the entry that this page had read */
  before: object;
  /** the current entry */
  theirs: object;
  /** the change of this page */
  patch: object;
}

export function differences(names: FieldNames, { before, theirs, patch }: Versions): Difference[] {
  return Object.entries(names).flatMap(([field, name]) => {
    const [was, is] = [valueOf(before, field), valueOf(theirs, field)];
    const mine = wanted(field, patch);
    if (same(was, is) && mine === undefined) return [];
    return [
      { field, name, before: fieldInWords(field, was), theirs: fieldInWords(field, is), mine },
    ];
  });
}

function valueOf(entry: object, field: string): unknown {
  return (entry as Record<string, unknown>)[field];
}

function wanted(field: string, patch: object): string | undefined {
  if (field === 'hasSharedSecret') {
    return valueOf(patch, 'sharedSecret') === undefined ? undefined : words.newOne;
  }
  const value = valueOf(patch, field);
  return value === undefined ? undefined : fieldInWords(field, value);
}

/** The API and the audit trail have this in place of a secret. */
const HIDDEN = '***';

/** The words of the fields whose values are codes. */
const VALUES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  role: text.lib.labels.roles,
  trust: words.trust,
  compute: text.condition.labels.computeWords,
};

/** Formats the value of a field for people. It never shows secrets and header values. */
export function fieldInWords(field: string, value: unknown): string {
  if (value === null || value === undefined) return UNSET[field] ?? words.none;
  if (typeof value !== 'string') return valueInWords(value);
  return field === 'proxy' ? withoutLogin(value) : (VALUES[field]?.[value] ?? valueInWords(value));
}

function valueInWords(value: unknown): string {
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  if (value === HIDDEN) return words.isSet;
  if (Array.isArray(value)) {
    return value.length === 0 ? words.none : value.map(itemInWords).join(', ');
  }
  if (typeof value === 'object' && value !== null) return partsInWords(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** `{maxEvents: 10, maxWait: '1s', maxBytes: null}` → `maxEvents: 10; maxWait: 1s` */
function partsInWords(parts: object): string {
  return Object.entries(parts)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${valueInWords(value)}`)
    .join('; ');
}

/** Returns whether a value of the audit trail contains a secret, which may be what changed. */
export function hidesSecret(value: unknown): boolean {
  return JSON.stringify(value).includes(`"${HIDDEN}"`);
}

const OFF = text.endpoint.webhookSwitches.off;

interface WebhookFields {
  id?: string;
  /** absent in the audit trail; null: it cannot be decrypted */
  url?: string | null;
  /** the URL in the audit trail; `***`: it is unknown */
  address?: string;
  origin?: string;
  headers?: Record<string, unknown>;
  /** what else is no secret: who authenticates */
  auth?: { type: string; username?: string; name?: string; clientId?: string } | null;
  tls?: object | null;
  disabled?: { reason: keyof typeof OFF } | null;
}

function itemInWords(item: unknown): string {
  if (typeof item !== 'object' || item === null) return String(item);
  if (!('url' in item || 'headers' in item)) return partsInWords(item);
  const {
    id = '',
    origin = id,
    address = HIDDEN,
    url = address === HIDDEN ? origin : address,
    headers,
    auth,
    tls,
    disabled,
  } = item as WebhookFields;
  const parts = compact([
    ...Object.keys(headers ?? {}),
    auth?.type,
    auth?.username ?? auth?.name ?? auth?.clientId,
    tls ? 'tls' : undefined,
    disabled ? OFF[disabled.reason] : undefined,
  ]);
  return `${url ?? words.unreadable}${parts.length === 0 ? '' : ` (${parts.join(', ')})`}`;
}
