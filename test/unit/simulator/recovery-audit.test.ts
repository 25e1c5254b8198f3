import { type CircuitTransition } from '../../../services/delivery/lanes/registry';
import { RecoveryAudit } from '../../../tools/simulator/recovery-audit';

/** The check of what waits for a circuit concerns what the circuit's process must bring back. */

const NOW = 60_000;
const changeTo = (state: 'open' | 'closed') =>
  ({
    endpoint: { lane: 'd0/h0', hash: 'h0', destinationId: 'd0' },
    state,
  }) as CircuitTransition;
const OWNER = { name: 'delivery-0', ownsSince: () => 0, awakeSince: () => 0 };
const WAITING = { destination: 'd0', key: 'd0:1', refusedBy: [] as string[], sinceMs: NOW - 1 };

interface Given {
  owner?: Partial<typeof OWNER>;
  waiting?: Partial<typeof WAITING>;
  others?: number;
  /** after the circuit has closed */
  then?: (audit: RecoveryAudit) => void;
}

function broken({ owner, waiting, others = 0, then }: Given): string[] {
  const wrong: string[] = [];
  const audit = new RecoveryAudit((what) => wrong.push(what));
  audit.parked('one', { ...WAITING, ...waiting });
  for (let i = 0; i < others; i++) {
    audit.parked(`other-${i}`, { ...WAITING, sinceMs: NOW + 1 });
  }
  const check = audit.circuitChanged(changeTo('closed'), { ...OWNER, ...owner }, NOW);
  then?.(audit);
  check?.();
  return wrong;
}

test.each<[string, Given, boolean]>([
  ['waits on', {}, true],
  ['has left', { then: (audit) => audit.left('one') }, false],
  ['waits at another destination', { waiting: { destination: 'd1' } }, false],
  ['was refused by this URL', { waiting: { refusedBy: ['h1', 'h0'] } }, false],
  ['was parked afterwards', { waiting: { sinceMs: NOW + 1 } }, false],
  ['went to another process', { owner: { ownsSince: () => Infinity } }, false],
  ['came to this process afterwards', { owner: { ownsSince: () => NOW + 1 } }, false],
  ['belongs to a process that stood still', { owner: { awakeSince: () => NOW + 1 } }, false],
  [
    'waits for a circuit that opened again',
    { then: (audit) => audit.circuitChanged(changeTo('open'), OWNER, NOW + 1) },
    false,
  ],
  ['waits among more than can be back', { others: 20_000 }, false],
])('a delivery that %s', (_, given, isBroken) => {
  expect(broken(given)).toEqual(isBroken ? ['waits for a circuit that has closed'] : []);
});

test('a circuit that opens promises nothing', () => {
  const audit = new RecoveryAudit(() => undefined);
  audit.parked('one', WAITING);
  expect(audit.circuitChanged(changeTo('open'), OWNER, NOW)).toBeUndefined();
});
