import {
  type AlertSettings,
  type Destination,
  type Kind,
  type Kinds,
  type Source,
  type Token,
} from '../../../shared/domain/config';
import { type Audience, type ComputedTrait } from '../../../shared/domain/definition';
import { type Json, type JsonObject } from '../../../shared/domain/message';
import { durationText } from '../fields';
import { type Actor } from './identities';

/**
 * What a change of `config` was, for the audit trail: written beside the record by whoever makes the change, and never
 * with a secret in it: what is secret shows only that it changed. Pure.
 */

export interface Change {
  field: string;
  from: Json;
  to: Json;
}

/** What can be done with, beside the entries of `config`. */
export const ACT_KINDS = ['deletion', 'replay', 'delivery', 'notice', 'session'] as const;
export type ActKind = (typeof ACT_KINDS)[number];

/** Changes of entries are the first three; the others are acts (acts.ts). */
export const ACTIONS = [
  'created',
  'changed',
  'deleted',
  'cancelled',
  'resumed',
  'replayed',
  'tested',
  'acknowledged',
] as const;
export type Action = (typeof ACTIONS)[number];

export interface AuditNote {
  by: Actor;
  action: Action;
  /** of the entry */
  name: string;
  changes: Change[];
}

type Data = Kinds[Kind];

export function auditNote(by: Actor, kind: Kind, before: Data | undefined, after: Data | undefined): AuditNote {
  const action = before ? (after ? 'changed' : 'deleted') : 'created';
  const [from, to] = [shown(kind, before), shown(kind, after)];
  const fields = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  const changes = fields
    .filter((field) => JSON.stringify(from[field]) !== JSON.stringify(to[field]))
    .map((field) => ({ field, from: masked(from[field]), to: masked(to[field]) }));
  return { by, action, name: (after ?? before)?.name ?? '', changes };
}

/** Stands for a secret while two are compared; shown as `***`. */
interface Secret {
  secret: string;
}

const secret = (value: unknown): JsonObject => ({ secret: JSON.stringify(value) }) satisfies Secret;

/** The fields that people know, with what is secret marked. */
function shown(kind: Kind, data: Data | undefined): JsonObject {
  if (!data) return {};
  switch (kind) {
    case 'source': {
      const { name, enabled, writeKeys } = data as Source;
      return { name, enabled, writeKeys: secret(writeKeys) };
    }
    case 'destination': {
      const { name, enabled, paused, sources, webhooks, secrets, types, ...rest } = data as Destination;
      const { maxPerSecond, shards, switchOffAfterMs, alerts } = rest;
      return {
        ...{ name, enabled, paused, sources },
        webhooks: webhooks.map(({ id, origin, url, headers }) => ({
          ...{ id, origin, address: secret(url) },
          headers: Object.fromEntries(Object.entries(headers).map(([header, value]) => [header, secret(value)])),
        })),
        ...(secrets && { sharedSecret: secret(secrets) }),
        ...(types && { types }),
        ...(maxPerSecond !== undefined && { maxPerSecond }),
        ...(shards !== undefined && { shards }),
        ...(switchOffAfterMs !== undefined && { switchOffAfter: durationText(switchOffAfterMs) }),
        ...(alerts && shownAlerts(alerts)),
      };
    }
    case 'audience':
    case 'computed_trait': {
      const {
        createdAt: _,
        updatedAt: __,
        id: ___,
        history: ____,
        uploads: _____,
        ...own
      } = {
        uploads: undefined,
        ...(data as Audience | ComputedTrait),
      };
      return JSON.parse(JSON.stringify(own)) as JsonObject;
    }
    case 'token': {
      const { name, role, hash } = data as Token;
      return { name, role, token: secret(hash) };
    }
  }
}

function shownAlerts({ failingForMs, deadLettersEveryMs, switchOffAfterMs }: AlertSettings): JsonObject {
  return {
    failingFor: durationText(failingForMs),
    deadLettersEvery: durationText(deadLettersEveryMs),
    ...(switchOffAfterMs !== undefined && { switchOffAfter: durationText(switchOffAfterMs) }),
  };
}

function masked(value: Json | undefined): Json {
  if (value === undefined) return null;
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== 'object' || value === null) return value;
  if (typeof value.secret === 'string' && Object.keys(value).length === 1) return '***';
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, masked(inner)]));
}
