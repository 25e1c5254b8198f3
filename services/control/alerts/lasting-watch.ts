import { type ConfigView } from '../../../shared/config/types';
import { LASTING_KINDS } from '../../../shared/model/notice-kinds';
import { type Log } from '../../../shared/telemetry/log';
import { type Queries } from '../history/database';
import { type History } from '../history/history';
import { decideLasting } from './lasting';
import { type Notice } from './notice';
import { readSignals } from './signal-store';
import { addNotices, endLasting, openNotices } from './store';

/** Looks for trouble that lasts, and stores its notices. The caller holds the lease. */

/** Soon enough for people, and seldom enough for ten thousand destinations. */
const POLL_EVERY_MS = 5_000;

export interface LastingOptions {
  history: Pick<History, 'ask'>;
  config: Pick<ConfigView, 'list'>;
  /** Returns the number of users whose profiles are full; undefined: not known yet. */
  fullProfiles: () => number | undefined;
  log: Log;
}

export class LastingWatch {
  #polledAt = -Infinity;

  constructor(private readonly options: LastingOptions) {}

  /** @param at the time up to which `attempts` was read */
  async poll(at: Date): Promise<void> {
    const nowMs = at.getTime();
    // A clock that is set back must not stop it.
    if (Math.abs(nowMs - this.#polledAt) < POLL_EVERY_MS) return;
    const { history, log } = this.options;
    const raised = await history.ask((database) =>
      database.transaction((queries) => this.#decide(queries, nowMs)),
    );
    this.#polledAt = nowMs;
    for (const { id, destination, kind } of raised) {
      log.warn({ notice: id, destination, kind }, 'notice.raised');
    }
  }

  async #decide(queries: Queries, nowMs: number): Promise<Notice[]> {
    const { config, fullProfiles } = this.options;
    const [signals, open] = [await readSignals(queries), await openNotices(queries, LASTING_KINDS)];
    const destinations = config.list('destination').map(({ data }) => data);
    const { raised, ended } = decideLasting(
      { destinations, signals, fullProfiles: fullProfiles(), nowMs },
      open,
    );
    await addNotices(queries, raised);
    await endLasting(queries, ended);
    return raised;
  }
}
