/** A unit test starts no process and waits for nothing outside itself: what takes longer hangs, or is no unit test. */
jest.setTimeout(5_000);
