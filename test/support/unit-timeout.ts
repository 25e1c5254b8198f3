/**
 * A unit test starts no process and waits for nothing outside itself: what takes five seconds
 * hangs, or is no unit test. Set UNIT_TIMEOUT_MS on a machine that is busy with other work.
 */
jest.setTimeout(Number(process.env.UNIT_TIMEOUT_MS ?? 5_000));
