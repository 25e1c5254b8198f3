import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BrokerPorts } from './kafka/broker-config';
import { freePorts, isFree } from './ports';

/**
 * The ports of the embedded broker, chosen once and stored in its folder, so that its address stays
 * the same at the next start.
 */

const HOST = '127.0.0.1';

/** Returns the ports of the last start, or others if one of them is in use now. */
export async function storedPorts(dir: string): Promise<BrokerPorts> {
  const file = join(dir, 'ports.json');
  const kept = existsSync(file) ? parsePorts(readFileSync(file, 'utf8')) : undefined;
  if (kept && (await isFree(kept.broker, HOST)) && (await isFree(kept.controller, HOST))) {
    return kept;
  }
  const [broker = 0, controller = 0] = await freePorts(2, HOST);
  writeFileSync(file, JSON.stringify({ broker, controller }));
  return { broker, controller };
}

function parsePorts(text: string): BrokerPorts | undefined {
  const [, broker, controller] = /^\{"broker":(\d+),"controller":(\d+)\}$/.exec(text) ?? [];
  return broker && controller
    ? { broker: Number(broker), controller: Number(controller) }
    : undefined;
}
