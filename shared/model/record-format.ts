/**
 * The format of all that Waypost keeps in Kafka: the field `format` of each entry of `config`, and
 * the header `format` of each record of the other topics. Raise it with every change after which an
 * older process would misread a record. A process that meets a newer format ends, and one that
 * meets an older format in `config` does not start.
 */
export const FORMAT = 6;
/** The value of the header. */
export const FORMAT_HEADER = String(FORMAT);

type RawHeaders = Readonly<Record<string, string | undefined>>;

/**
 * Returns the format of a record that only a newer version can read; undefined if this version
 * reads it. The reader of such a record must wait or end, and must not finish the record.
 */
export function newerFormatOf({ format }: RawHeaders): string | undefined {
  return format !== undefined && Number(format) > FORMAT ? format : undefined;
}
