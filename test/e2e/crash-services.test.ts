import { SERVICES } from '../../deploy/local/paths';
import { openRig, PER_SECOND, type Rig } from '../support/rig';

/** kill -9 of each service under load, one endpoint hanging: nothing that was acknowledged is lost. */

/** Between the look at the commits and the kill, and from the last commit to the look: a second of load. */
const SLACK = PER_SECOND;

let rig: Rig;
beforeAll(async () => {
  rig = await openRig();
}, 240_000);
afterAll(() => rig.close());

test.each(SERVICES)(
  '%s is killed, comes back, and work goes on',
  async (name) => {
    // Given calls that flow; then a killed service is replaced, what was acknowledged arrives, and no more is repeated
    // than what the service had not committed.
    await rig.flowing();
    const { healthy } = rig;
    const before = { pids: rig.system.pids(name), repeats: healthy.repeats, uncommitted: await rig.uncommitted(name) };
    rig.system.kill(name);
    await rig.replaced(name, before.pids);
    await rig.caughtUp();
    await rig.flowing();
    const repeats = healthy.repeats - before.repeats;
    process.stdout.write(`${name} killed: ${repeats} repeats, ${before.uncommitted} records were not committed\n`);
    expect(repeats).toBeLessThanOrEqual(before.uncommitted + SLACK);
  },
  120_000,
);

test('every acknowledged call arrived', async () => {
  // Given five kills; then nothing is missing, at the endpoint that fails sometimes neither.
  await rig.allArrived();
  const { load, healthy } = rig;
  process.stdout.write(
    `${load.acknowledged.size} calls acknowledged, 0 lost, ${healthy.repeats} repeats; ` +
      `refusals: ${JSON.stringify([...load.refusals])}\n`,
  );
  expect(load.acknowledged.size).toBeGreaterThan(PER_SECOND);
}, 240_000);
