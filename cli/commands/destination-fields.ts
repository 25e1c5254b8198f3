import { type Destination, type Operations } from '../../shared/api/operations';
import { MESSAGE_TYPES } from '../../shared/model/message';
import { listOf, oneOf, type Session, whole } from '../command';
import { findSource, idsOf } from '../resolve-by-name';
import { WEBHOOK_EDITS, type WebhookFields, webhookFieldsOf, type WebhookOptions } from './webhook-fields';

/** The options of a destination, for `create` and `edit`. */

type Patch = Operations['PATCH /destinations/{id}']['body'];
export type Fields = WebhookFields & Pick<Patch, 'sources' | 'types' | 'maxPerSecond'>;

export interface EditOptions extends WebhookOptions {
  source?: string[];
  types?: string;
  maxPerSecond?: string;
}

export const EDITS: [string, string][] = [
  ['--source <source...>', 'connected sources, by id or name'],
  ...WEBHOOK_EDITS,
  ['--types <types>', 'message types, such as track,identify, or all'],
  ['--max-per-second <n>', 'maximum requests per second to each URL; 0 for no limit'],
];

/** @throws CliError */
export async function fieldsOf(session: Session, options: EditOptions, before?: Destination): Promise<Fields> {
  const { types, maxPerSecond } = options;
  const fields: Fields = {};
  if (options.source) fields.sources = await idsOf(findSource, session.api(), options.source);
  Object.assign(fields, await webhookFieldsOf(session, options, before));
  if (types !== undefined) {
    fields.types = types === 'all' ? null : listOf(types).map((type) => oneOf(type, '--types', MESSAGE_TYPES));
  }
  if (maxPerSecond !== undefined) {
    fields.maxPerSecond = whole(maxPerSecond, '--max-per-second', [0, 100_000]) || null;
  }
  return fields;
}
