import { z } from 'zod';
import { type ConfigRecord, configKey, KINDS } from '../model/config';
import { FORMAT } from '../model/record-format';

/** Parses the records of `config`, as far as readers rely on their fields. */

const header = z.object({ format: z.number() });
const head = z.object({
  format: z.literal(FORMAT),
  kind: z.enum(KINDS),
  id: z.string().min(1),
  version: z.int().min(1),
  replaces: z.int().min(0),
  at: z.string(),
  data: z.looseObject({ id: z.string() }).optional(),
});
/** The fields that the indexes rely on. Control validated the rest before it wrote. */
const shapes = {
  source: z.object({
    writeKeys: z.array(
      z.object({ key: z.string(), sealed: z.string(), until: z.number().optional() }),
    ),
  }),
  destination: z.object({
    sources: z.array(z.string()),
    webhooks: z.array(z.object({ id: z.string() })),
  }),
  token: z.object({ hash: z.string() }),
  audience: z.object({ key: z.string(), source: z.string() }),
  computed_trait: z.object({ key: z.string(), source: z.string() }),
  system: z.object({ canary: z.string() }),
};

/**
 * The last version of an entry. A deletion may have a later one, so that an entry can be deleted
 * whatever its version is.
 */
const MAX_VERSION = 2 ** 40;

/** The record, or why it cannot be used. */
type Parsed =
  | { record: ConfigRecord }
  /** unreadable; this concerns only its own entry */
  | { kind: 'unreadable'; key: string; reason: string }
  /**
   * written by another version of Waypost; this process must not continue as if it knew the state
   */
  | { kind: 'newer' | 'older'; key: string; format: number };

/** Parses a record of `config`. Never throws. */
export function parseRecord(key: string, value: string): Parsed {
  const unreadable = (reason: string): Parsed => ({ kind: 'unreadable', key, reason });
  let json: unknown;
  try {
    json = JSON.parse(value);
  } catch {
    // The parser's own message quotes the text, which may contain a write key.
    return unreadable('it is not JSON');
  }
  const format = header.safeParse(json).data?.format ?? FORMAT;
  if (format !== FORMAT) return { kind: format > FORMAT ? 'newer' : 'older', key, format };
  const parsed = head.safeParse(json);
  if (!parsed.success) return unreadable(`invalid fields: ${fieldsOf(parsed.error)}`);
  const { kind, id, version, replaces, data } = parsed.data;
  // Otherwise one record could take the last number, and none could replace it.
  if (version !== replaces + 1) return unreadable('its version does not follow the replaced one');
  if (data && version > MAX_VERSION) return unreadable('its version is too high');
  if (configKey(kind, id) !== key) return unreadable('its key and its id differ');
  if (data) {
    const shape = shapes[kind].safeParse(data);
    if (!shape.success) return unreadable(`invalid fields in its data: ${fieldsOf(shape.error)}`);
    if (data.id !== id) return unreadable('its id and the id in its data differ');
  }
  return { record: json as ConfigRecord };
}

const connected = z.object({ data: z.object({ sources: z.array(z.string()) }) });

/**
 * Returns the sources that an unreadable record names where a destination has them; undefined if it
 * names none there.
 */
export function sourcesIn(value: string): readonly string[] | undefined {
  try {
    return connected.safeParse(JSON.parse(value)).data?.data.sources;
  } catch {
    return undefined;
  }
}

function fieldsOf(error: z.ZodError): string {
  return [...new Set(error.issues.map((issue) => issue.path.join('.') || '(whole record)'))].join(
    ', ',
  );
}
