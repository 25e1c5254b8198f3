import { SERVICES, type ServiceName } from '../../deploy/local/paths';
import { openRig, PER_SECOND, type Rig } from '../support/rig';

/** kill -9 of each service under load, one endpoint hanging: nothing that was acknowledged is lost. */

/** A crash repeats what was in flight: what was not yet committed behind a hanging request, and half a second of slack. */
const MOST_IN_FLIGHT_S = 3;

let rig: Rig;
beforeAll(async () => {
  rig = await openRig();
}, 120_000);
afterAll(() => rig.close());

const repeatsBy = new Map<ServiceName, number>();

test.each(SERVICES)('%s is killed, comes back, and work goes on', async (name) => {
  // Given calls that flow; then a killed service is replaced by a new process, and calls flow again.
  await rig.flowing();
  const before = { pids: rig.system.pids(name), repeats: rig.repeats() };
  rig.system.kill(name);
  await rig.replaced(name, before.pids);
  await rig.flowing(2 * PER_SECOND);
  repeatsBy.set(name, rig.repeats() - before.repeats);
}, 120_000);

test('every acknowledged call arrived, and few arrived twice', async () => {
  // Given five kills; then nothing is missing, and the repeats of each are within what can have been in flight.
  await rig.allArrived();
  const { load, sink } = rig;
  const told = [...repeatsBy].map(([name, count]) => `${name} ${count}`).join(', ');
  process.stdout.write(
    `${load.acknowledged.size} calls acknowledged, 0 lost; repeats by kill: ${told}; ` +
      `refusals: ${JSON.stringify([...load.refusals])}\n`,
  );
  expect(load.acknowledged.size).toBeGreaterThan(PER_SECOND);
  for (const [name, count] of repeatsBy) {
    expect({ name, within: count <= MOST_IN_FLIGHT_S * PER_SECOND }).toEqual({ name, within: true });
  }
  expect(sink.deliveries('/healthy').distinct).toBeGreaterThanOrEqual(load.acknowledged.size);
}, 120_000);
