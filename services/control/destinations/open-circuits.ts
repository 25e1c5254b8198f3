import { secretFields } from '../../../shared/model/secret-fields';
import { type ConfigView } from '../../../shared/config/types';
import { type Encryptor } from '../../../shared/config/encryption';
import { readVersions, type Versions, versionKey } from '../history/destination-versions';
import { type CircuitRow, openCircuits } from '../history/circuits';
import { type Asking } from '../history/database';

/**
 * Finds the open circuits of URLs that are still called. A circuit is stored by the id of its
 * webhook, which stays the same when its URL changes: delivery then calls another URL, and writes
 * no more about the old one.
 */

export interface CircuitDeps {
  history: Asking;
  config: Pick<ConfigView, 'destination'>;
  encryptor: Encryptor;
}

/** @throws Problem `unavailable` */
export function currentCircuits(deps: CircuitDeps): Promise<CircuitRow[]> {
  return deps.history.ask(async (database) => {
    const open = await openCircuits(database);
    const named = open.flatMap(({ destination, version }) =>
      version === null ? [] : [{ destination, version }],
    );
    const versions = await readVersions(database, named);
    return open.filter((circuit) => isCurrent(circuit, versions, deps));
  });
}

function isCurrent(
  circuit: CircuitRow,
  versions: Versions,
  { config, encryptor }: CircuitDeps,
): boolean {
  const today = config.destination(circuit.destination);
  const webhook = today?.data.webhooks.find(({ id }) => id === circuit.url);
  if (!today || !webhook || webhook.origin !== circuit.origin) return false;
  if (circuit.version === null || circuit.version === today.version) return true;
  const then = versions.get(versionKey(circuit.destination, circuit.version));
  const before = then?.webhooks.find(({ id }) => id === circuit.url);
  if (!before || before.url === webhook.url) return true;
  const field = secretFields.url(today.data.id, webhook.id);
  const open = (sealed: string) => encryptor.decrypt(sealed, field).text;
  return open(before.url) === open(webhook.url);
}
