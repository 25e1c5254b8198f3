import { backoff, sleep } from '../shared/runtime/async';
import { messageOf } from '../shared/runtime/errors';
import { type Ending, type RunningProgram } from './child-process';

/**
 * Restarts a program when it ends, after a pause. The pause doubles while the program keeps ending,
 * and is short again once it has run for a while.
 *
 *   ended after …   < 30 s: 200 ms, 400 ms, 800 ms, 1.6 s, 3.2 s, 5 s, 5 s …      ≥ 30 s: 200 ms
 */

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
const STEADY_MS = 30_000;

/** A program that is restarted when it ends. */
export interface RestartedProgram {
  /** Stops it for good. Resolves when it has ended. */
  stop(deadlineMs: number): Promise<void>;
  /** Kills it now, for good, without waiting. */
  kill(): void;
}

/** The program, and the listener of its failures. */
export interface RestartOptions {
  launch(): Promise<RunningProgram>;
  /** it ended, or could not start, without a request to stop */
  onDown(ending: Ending, pauseMs: number): void;
}

/** Starts a program and restarts it until it is stopped. */
export function restartOnExit(options: RestartOptions): RestartedProgram {
  const stopped = new AbortController();
  const isStopped = () => stopped.signal.aborted;
  let program: RunningProgram | undefined;
  let stopDeadlineMs = 0;

  const once = async (): Promise<Ending> => {
    try {
      program = await options.launch();
      if (isStopped()) await program.stop(stopDeadlineMs);
      return await program.ended;
    } catch (error) {
      return { text: messageOf(error) };
    } finally {
      program = undefined;
    }
  };
  const loop = async () => {
    const retry = backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, (ms) =>
      sleep(ms, { signal: stopped.signal }),
    );
    for (;;) {
      const startedAt = performance.now();
      const ending = await once();
      if (isStopped()) return;
      if (performance.now() - startedAt >= STEADY_MS) retry.reset();
      options.onDown(ending, retry.nextMs);
      await retry.pause();
      if (isStopped()) return;
    }
  };
  const done = loop();

  return {
    stop: async (deadlineMs) => {
      stopDeadlineMs = deadlineMs;
      stopped.abort();
      await program?.stop(deadlineMs);
      await done;
    },
    kill: () => {
      stopped.abort();
      program?.kill();
    },
  };
}
