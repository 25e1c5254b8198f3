import { z } from 'zod';
import {
  type Audience,
  type ComputedTrait,
  type Destination,
  type Source,
} from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { TRUSTS } from '../../shared/model/config';
import { BODY_FORMATS, METHODS } from '../../shared/model/request-settings';
import { CliError } from '../process-context';
import { deliveryOptions, deliveryOptionsToFile } from './delivery-options';
import { authSecrets, authToFile, signature, webhookAuth } from './endpoint-auth';
import { HIDDEN } from './hidden';
import { plainInFile, plainOf } from './plain-fields';
import { audience, audienceToFile, type Names, trait, traitToFile } from './definitions';

/**
 * Sources, destinations, audiences and computed traits as a file that you can store, compare and
 * apply to another system. The file has names in place of ids. It contains no secrets and no header
 * values, because the API does not return them: `***` marks each. (Encrypted secrets would need a
 * key, and whoever can send the key safely can send the secrets.) The target system creates new
 * write keys.
 */

const FORMAT = 1;

const webhook = z.strictObject({
  url: z.string(),
  headers: z.record(z.string(), z.string()).default({}),
  ...webhookAuth,
});
const destination = z.strictObject({
  name: z.string().min(1),
  type: z.literal('webhooks'),
  sources: z.array(z.string()),
  webhooks: z.array(webhook),
  sharedSecret: z.literal(HIDDEN).optional(),
  signature,
  // An import leaves it unchanged if the file lacks it.
  request: z
    .strictObject({
      method: z.enum(METHODS).nullable().default(null),
      format: z.enum(BODY_FORMATS).nullable().default(null),
      body: z.string().nullable().default(null),
      headers: z.record(z.string(), z.string()).nullable().default(null),
      gzipAbove: z.number().nullable().default(null),
    })
    .nullable()
    .optional(),
  ...deliveryOptions,
  ...plainInFile,
});
const file = z.strictObject({
  waypost: z.literal(FORMAT),
  exportedAt: z.string().optional(),
  sources: z.array(
    z.strictObject({
      name: z.string().min(1),
      enabled: z.boolean().default(true),
      blockedEvents: z.array(z.string()).default([]),
      // An import leaves these two fields unchanged if the file lacks them.
      limits: z
        .strictObject({
          maxPerSecond: z.number().nullable().default(null),
          maxBytesPerSecond: z.number().nullable().default(null),
          burst: z.string().nullable().default(null),
        })
        .nullable()
        .optional(),
      trust: z.enum(TRUSTS).optional(),
    }),
  ),
  destinations: z.array(destination),
  audiences: z.array(audience).default([]),
  traits: z.array(trait).default([]),
});
const secretsFile = z.record(
  z.string(),
  z.strictObject({
    sharedSecret: z.string().min(1).optional(),
    /** with its login */
    proxy: z.string().min(1).optional(),
    headers: z.record(z.string(), z.string()).default({}),
    ...authSecrets,
  }),
);

export type SettingsFile = z.output<typeof file>;
export type FileSource = SettingsFile['sources'][number];
export type FileDestination = SettingsFile['destinations'][number];
/** by name of the destination; header values by name of the header */
export type SecretsFile = z.output<typeof secretsFile>;

/** The current configuration of a system. */
export interface Present {
  /** the sources that clients send to */
  sources: Source[];
  destinations: Destination[];
  audiences: Audience[];
  traits: ComputedTrait[];
}

export function namesOf({ sources, destinations }: Present): Names {
  const names = (all: { id: string; name: string }[]) =>
    new Map(all.map(({ id, name }) => [id, name]));
  return { sources: names(sources), destinations: names(destinations) };
}

/**
 * Returns whether all sources of a definition were deleted: it counts nothing any more. The file
 * leaves it out, because a definition without a source cannot be created.
 */
export function hasLostItsSources(
  { sources }: Pick<Audience, 'sources'>,
  present: Present,
): boolean {
  const known = new Set(present.sources.map(({ id }) => id));
  return sources !== null && !sources.some((id) => known.has(id));
}

/**
 * @throws CliError for two entries with the same name, which an import could not distinguish, and
 * for an unreadable URL
 */
export function toFile(present: Present, at: Date): SettingsFile {
  const { sources, destinations, audiences, traits } = present;
  eachOnce(present);
  const names = namesOf(present);
  const counts = (one: Audience | ComputedTrait) => !hasLostItsSources(one, present);
  return {
    waypost: FORMAT,
    exportedAt: at.toISOString(),
    sources: sources.map(({ name, ...own }) => ({ name, ...sourceFields(own) })),
    destinations: destinations.map((one) => ({
      name: one.name,
      type: one.type,
      sources: one.sources.flatMap((id) => names.sources.get(id) ?? []),
      webhooks: one.webhooks.map((webhook) => ({
        url: webhook.url ?? lost(one.name),
        headers: Object.fromEntries(Object.keys(webhook.headers).map((name) => [name, HIDDEN])),
        ...authToFile(webhook, () => lost(one.name)),
      })),
      ...defined({ sharedSecret: one.hasSharedSecret ? HIDDEN : undefined }),
      signature: one.signature,
      request: one.request,
      ...deliveryOptionsToFile(one),
      ...plainOf(one),
    })),
    audiences: audiences.filter(counts).map((one) => audienceToFile(one, names)),
    traits: traits.filter(counts).map((one) => traitToFile(one, names)),
  };
}

/** Returns the fields of a source in a file, in a fixed order. */
export function sourceFields({ enabled, blockedEvents, limits, trust }: Omit<FileSource, 'name'>) {
  return {
    enabled,
    blockedEvents,
    ...defined({
      limits,
      trust,
    }),
  };
}

export type SourceFields = ReturnType<typeof sourceFields>;

function lost(name: string): never {
  throw new CliError(
    `A URL of destination "${name}" was lost with its key. Set it again with \`waypost ` +
      `destinations edit\`.`,
  );
}

type Named = { name: string }[];

function eachOnce(all: {
  sources: Named;
  destinations: Named;
  audiences: Named;
  traits: Named;
}): void {
  oneOfEach('source', all.sources);
  oneOfEach('destination', all.destinations);
  oneOfEach('audience', all.audiences);
  oneOfEach('trait', all.traits);
}

function oneOfEach(kind: string, all: Named): void {
  const twice = all.find(({ name }, i) => all.findIndex((other) => other.name === name) !== i);
  if (twice) {
    throw new CliError(
      `Two ${kind}s are named "${twice.name}". A file cannot distinguish them. Rename one of them.`,
    );
  }
}

/** @throws CliError that lists every fault */
export function parseFile(text: string): SettingsFile {
  const parsed = parse(file, text, 'The file');
  eachOnce(parsed);
  return parsed;
}

/** @throws CliError that lists every fault, without any value */
export function parseSecrets(text: string): SecretsFile {
  return parse(secretsFile, text, 'The secrets file');
}

function parse<S extends z.ZodType>(schema: S, text: string, what: string): z.output<S> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new CliError(`${what} is not JSON.`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `\n  ${faultOf(issue, what)}`);
  throw new CliError(`${what} is not a valid file of \`waypost export\`:${faults.join('')}`);
}

/** Describes a fault in words: the place, the expected value, and no value of the file. */
function faultOf(issue: z.core.$ZodIssue, what: string): string {
  const place = issue.path.length === 0 ? what : issue.path.join('.');
  if (issue.code === 'invalid_type') {
    const wanted = `must be ${WORDS[issue.expected] ?? `a ${issue.expected}`}`;
    return issue.message.endsWith('received undefined')
      ? `${place} is missing; it ${wanted}`
      : `${place} ${wanted}`;
  }
  if (issue.code === 'unrecognized_keys') {
    return (
      `${place} has ${issue.keys.length === 1 ? 'an unknown field' : 'unknown fields'}: ` +
      issue.keys.join(', ')
    );
  }
  if (issue.code === 'invalid_value') {
    return `${place} must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
  }
  return `${place}: ${issue.message}`;
}

const WORDS: Readonly<Record<string, string>> = {
  array: 'a list',
  object: 'an object',
  int: 'a whole number',
  string: 'a text',
};
