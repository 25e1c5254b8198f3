import { type Database, type Transaction } from '../../services/control/history/database';
import { type Event } from '../../services/control/history/parse-events';
import {
  type Admit,
  readParts,
  recordEvents,
  type Touched,
} from '../../services/control/history/record-events';
import { type TablePartition } from '../../services/control/history/table-partitions';

/**
 * Writes events of `attempts` in a transaction, as the reader of the history does.
 * @param known the known partitions, to which new ones are added; default: those of the database
 * @param admitter called first in the transaction
 */
export async function storeEvents(
  database: Database,
  events: readonly Event[],
  known?: TablePartition[],
  admitter?: (transaction: Transaction) => Promise<Admit>,
): Promise<Touched> {
  const parts = known ?? (await readParts(database));
  const { made, touched } = await database.transaction(async (transaction) =>
    recordEvents(transaction, events, parts, await admitter?.(transaction)),
  );
  parts.push(...made);
  return touched;
}
