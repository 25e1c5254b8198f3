import { isDeepStrictEqual } from 'node:util';
import { durationText } from '../../../shared/api/fields';
import { type Action } from '../../../shared/api/operation';
import { isEncrypted } from '../../../shared/config/encryption';
import { type ApiKind, type Kinds } from '../../../shared/model/config';
import { type Json, type JsonObject } from '../../../shared/model/message';
import { type Actor } from '../http/identity';

/**
 * Describes a change of `config` for the audit trail. The note is a header of the record. All
 * fields are compared; of a secret the note shows only that it changed. Pure.
 */

export interface Change {
  field: string;
  from: Json;
  to: Json;
}

export interface AuditNote {
  by: Actor;
  action: Action;
  name: string;
  changes: Change[];
}

type Data = Kinds[ApiKind];

export function auditNote(by: Actor, before: Data | undefined, after: Data | undefined): AuditNote {
  const action = before ? (after ? 'changed' : 'deleted') : 'created';
  const [from, to] = [fieldsOf(before), fieldsOf(after)];
  const fields = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  const changes = fields
    .filter((field) => !isDeepStrictEqual(from[field], to[field]))
    .map((field) => ({
      field: nameOf(field),
      from: shown(field, from[field]),
      to: shown(field, to[field]),
    }));
  return { by, action, name: (after ?? before)?.name ?? '', changes };
}

/**
 * No request can set these. Every other field is compared, so that a new one cannot be forgotten
 * here.
 */
const NOT_GIVEN: ReadonlySet<string> = new Set(['id', 'createdAt', 'updatedAt', 'switchedOff']);

function fieldsOf(data: Data | undefined): Record<string, Json> {
  const { alerts = {}, ...fields } = JSON.parse(JSON.stringify(data ?? {})) as JsonObject & {
    alerts?: JsonObject;
  };
  return Object.fromEntries(
    Object.entries({ ...fields, ...alerts }).filter(([field]) => !NOT_GIVEN.has(field)),
  );
}

const HIDDEN = '***';
/** Fields whose value is secret, at any depth. Encrypted texts are hidden everywhere. */
const SECRET: ReadonlySet<string> = new Set(['secrets', 'hash', 'writeKeys', 'url']);
/** Objects with public names and secret values. */
const SECRET_VALUES: ReadonlySet<string> = new Set(['headers']);
const NAMES: Readonly<Record<string, string>> = {
  secrets: 'sharedSecret',
  hash: 'token',
  url: 'address',
};
/** A note is a header of a record, which may have 1 MB, so longer texts and lists are cut. */
const MAX_CHARACTERS = 1_000;
const MAX_ITEMS = 50;

/** `failingForMs` → `failingFor`, since the API shows durations. */
function nameOf(field: string): string {
  return NAMES[field] ?? field.replace(/Ms$/, '');
}

function shown(field: string, value: Json | undefined): Json {
  if (value === undefined || value === null) return null;
  if (SECRET.has(field)) return HIDDEN;
  if (typeof value === 'number') return field.endsWith('Ms') ? durationText(value) : value;
  if (typeof value === 'string') return isEncrypted(value) ? HIDDEN : cut(value);
  if (Array.isArray(value)) return listShown(field, value);
  if (typeof value !== 'object') return value;
  const inner = Object.entries(value as JsonObject).map(([name, each]) =>
    SECRET_VALUES.has(field) ? [name, HIDDEN] : [nameOf(name), shown(name, each)],
  );
  return Object.fromEntries(inner) as JsonObject;
}

function listShown(field: string, list: readonly Json[]): Json {
  const items = list.slice(0, MAX_ITEMS).map((item) => shown(field, item));
  return list.length > MAX_ITEMS
    ? [...items, `and ${String(list.length - MAX_ITEMS)} more`]
    : items;
}

function cut(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}
