/** A file of the data dir in which a local system publishes its addresses for other programs of the machine. */

export const SYSTEM_FILE = 'system.json';

/** The content of the file. It holds no secret: the token is in another file. */
export interface SystemFile {
  control: string;
  ingest: string;
  brokers: string[];
  /** the system runs the brokers itself, with one copy of each record */
  embedded: boolean;
  /** health ports by service */
  health: Record<string, number>;
}
