/** A file of the data dir by which a system of this machine says where it is, for programs beside it. */

export const SYSTEM_FILE = 'system.json';

/** What stands in it. No secret: the token is in a file of its own. */
export interface SystemFile {
  control: string;
  ingest: string;
  brokers: string[];
  /** they are its own, and keep one copy of each record */
  embedded: boolean;
  /** ports by service */
  health: Record<string, number>;
}
