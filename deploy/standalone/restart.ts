import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../shared/service/errors';
import { type Ending, type RunningProgram } from './child-process';

/**
 * Keeps one program running: starts it again when it ends, after a pause that doubles while it keeps ending and is
 * short again once it has lived for a while.
 *
 *   ended after …   < 30 s: 200 ms, 400 ms, 800 ms, 1.6 s, 3.2 s, 5 s, 5 s …      ≥ 30 s: 200 ms
 */

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
const STEADY_MS = 30_000;

/** A program that is kept running. */
export interface RestartedProgram {
  /** Ends it for good. Resolves when it has ended. */
  stop(deadlineMs: number): Promise<void>;
  /** Makes it end now, for good, and waits for nothing. */
  kill(): void;
}

/** What to run, and who hears of it. */
export interface RestartOptions {
  launch(): Promise<RunningProgram>;
  /** it ended, or could not be started, and nobody had asked for that */
  onDown(ending: Ending, pauseMs: number): void;
}

/** Starts a program and keeps it running until it is stopped. */
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
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      const startedAt = Date.now();
      const ending = await once();
      if (isStopped()) return;
      if (Date.now() - startedAt >= STEADY_MS) pauseMs = FIRST_PAUSE_MS;
      options.onDown(ending, pauseMs);
      // The pause is cut short by `stop`, which is not an error here.
      await pause(pauseMs, undefined, { signal: stopped.signal }).catch(() => undefined);
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
