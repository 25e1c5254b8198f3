import { MESSAGE_TYPES } from './message';

/**
 * The fields of a destination, one entry for each. Of a plain field the schema, stored form, who
 * may set it, its option of the command line and its part of the export file derive from its entry;
 * for numbers and durations also its input in the console's form, where lists and expressions have
 * one by name (plain-fields.tsx). The console has its texts (console/src/texts/destination.ts).
 *
 * Browsers load this file, so it has no schema: shared/api/plain-fields.ts makes them.
 */

interface Permission {
  /** only administrators may set it, because it controls where Waypost sends and how it signs */
  admin?: true;
}

/** Its parts, secrets or checks need code of their own, wherever it is used. */
interface OwnField extends Permission {
  kind: 'own';
}

interface Plain extends Permission {
  /** in the documentation of the API */
  description: string;
  /** absent: the command line does not set it */
  option?: {
    flags: string;
    help: string;
    /** what removes the setting: no value that the field may have */
    unset: string;
  };
  /** its line in `waypost destinations show`; without `unset` there is a line only if it is set */
  line?: { title: string; unset?: string };
  /** the form of a destination in the console has it */
  form?: true;
}

/**
 * Always stored, and false by default. Commands and buttons of its own turn it, such as `pause`.
 */
interface Switch extends Plain {
  kind: 'switch';
  option?: never;
  form?: never;
}

interface Numeric extends Plain {
  kind: 'number' | 'integer';
  least: number;
  most: number;
  /** shown if it is not set; absent: null is shown */
  default?: number;
}

/** `5d` in the API; stored in ms, with `Ms` at the end of its name. */
interface Duration extends Plain {
  kind: 'duration';
  mostMs: number;
}

/** A list of some of these words. */
interface Choices extends Plain {
  kind: 'choices';
  of: readonly string[];
}

/** A text in CEL, which control compiles (services/control/expressions/request-expressions.ts). */
interface Expression extends Plain {
  kind: 'expression';
  maxLength: number;
}

export type PlainField = Switch | Numeric | Duration | Choices | Expression;

const DAY_MS = 86_400_000;

export const DESTINATION_FIELDS = {
  name: { kind: 'own' },
  type: { kind: 'own' },
  enabled: {
    kind: 'switch',
    description: 'If false, it receives nothing and its waiting deliveries are cancelled',
  },
  paused: {
    kind: 'switch',
    description: 'If true, deliveries wait, within their window',
  },
  sources: { kind: 'own' },
  webhooks: { kind: 'own', admin: true },
  sharedSecret: { kind: 'own', admin: true },
  signature: { kind: 'own', admin: true },
  types: {
    kind: 'choices',
    of: MESSAGE_TYPES,
    description: 'Message types to deliver. Omit for all',
    option: {
      flags: '--types <types>',
      help: 'message types, such as track,identify, or all',
      unset: 'all',
    },
    line: { title: 'types', unset: 'all' },
    form: true,
  },
  filter: {
    kind: 'expression',
    maxLength: 2_000,
    description:
      'Condition in CEL over the message, such as type == "track" && properties.total > ' +
      '100. Only matching messages are delivered',
    option: {
      flags: '--filter <condition>',
      help: 'condition in CEL, such as \'event == "Order Completed"\'; none to deliver all messages',
      unset: 'none',
    },
    line: { title: 'filter' },
    form: true,
  },
  request: { kind: 'own' },
  maxPerSecond: {
    kind: 'number',
    least: 0.1,
    most: 100_000,
    description: 'Maximum requests per second to each URL. Omit for no limit',
    option: {
      flags: '--max-per-second <n>',
      help: 'maximum requests per second to each URL; 0 for no limit',
      unset: '0',
    },
    line: { title: 'a second', unset: 'no limit' },
    form: true,
  },
  shards: {
    kind: 'integer',
    least: 1,
    // More shards than the topic has partitions, at most 1,000, have no effect.
    most: 1_000,
    default: 4,
    description: 'Number of shards for its users. Default: 4',
  },
  batch: { kind: 'own' },
  switchOffAfter: {
    kind: 'duration',
    mostMs: 90 * DAY_MS,
    description:
      'Switch off after failing for this long, such as 5d. 0s: never. Omit to use the ' +
      'value of /alerts',
    option: {
      flags: '--switch-off-after <duration>',
      help: 'disable it after failing for this long, such as 5d; 0s: never; default: as in the alerts',
      unset: 'default',
    },
    line: { title: 'disabled after' },
    form: true,
  },
  retry: { kind: 'own' },
  proxy: { kind: 'own', admin: true },
} as const satisfies Readonly<Record<string, OwnField | PlainField>>;

type Fields = typeof DESTINATION_FIELDS;
export type DestinationField = keyof Fields;

type NamesOf<Entry> = {
  [Name in DestinationField]: Fields[Name] extends Entry ? Name : never;
}[DestinationField];

export type OwnName = NamesOf<{ kind: 'own' }>;
export type PlainName = Exclude<DestinationField, OwnName>;
export type SwitchName = NamesOf<{ kind: 'switch' }>;
/** Those that the API never shows as null. */
export type AlwaysSet = SwitchName | NamesOf<{ default: unknown }>;
/** Those in the console's forms. */
export type FormName = NamesOf<{ form: true }>;

/** A value as requests, responses and export files have it. */
export type PlainValue<Name extends PlainName> = Fields[Name] extends { kind: 'switch' }
  ? boolean
  : Fields[Name] extends { kind: 'number' | 'integer' }
    ? number
    : Fields[Name] extends { of: readonly (infer Choice)[] }
      ? Choice[]
      : string;

/** A value as it is stored. */
export type StoredValue<Name extends PlainName> = Fields[Name] extends { kind: 'duration' }
  ? number
  : PlainValue<Name>;

type StoredName<Name extends PlainName> = Fields[Name] extends { kind: 'duration' }
  ? `${Name}Ms`
  : Name;

/**
 * The plain fields of a stored destination. All but the switches are absent unless they are set.
 */
export type StoredFields = Record<SwitchName, boolean> & {
  [Name in Exclude<PlainName, SwitchName> as StoredName<Name>]?: StoredValue<Name>;
};

export const PLAIN_FIELDS = Object.entries(DESTINATION_FIELDS).filter(
  ([, { kind }]) => kind !== 'own',
) as [PlainName, PlainField][];

export const FORM_FIELDS = PLAIN_FIELDS.filter(([, { form }]) => form) as [FormName, PlainField][];

/** Names of the fields that only administrators may set. */
export const ADMIN_FIELDS: readonly string[] = Object.entries(DESTINATION_FIELDS)
  .filter(([, field]) => 'admin' in field)
  .map(([name]) => name);
