/**
 * The format of the records of `messages`, `webhooks` and `attempts`. Every process reads all
 * formats up to its own, and writes the one that `config` names (the entry `record_format`), which
 * control raises when all processes can read it. Format 2 has rows in `attempts` (attempt-rows.ts).
 * With format 3, every process knows `webhooks.recalls` (recall.ts).
 */

/**
 * The newest format that this version reads. Raise it together with the readers of the new format.
 */
export const READS_FORMAT = 3;
/** Used until `config` names another one. Records without a format have it. */
export const FIRST_FORMAT = 1;

/**
 * Returns the format of a record that only a newer version can read; undefined if this version
 * reads it. The reader of such a record must wait or end, and must not finish the record.
 */
export function newerFormatOf(
  headers: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const { format } = headers;
  return format !== undefined && Number(format) > READS_FORMAT ? format : undefined;
}
