import { type PreviewQuery } from '../../../shared/model/profile-records';
import { isoTime } from '../../../shared/model/time';
import { withTimeout } from '../../../shared/runtime/async';
import { Problem, quoted } from '../http/problem';
import { type Forgotten } from '../history/deletions';
import { type QueryClient, nobodyThere } from './query-client';
import { newId } from '../config/config-entries';
import {
  figuresOf,
  hasFigures,
  withAnswer,
  isDone,
  type PreviewFigures,
  type PreviewProgress,
  NO_PROGRESS,
} from './preview-progress';

/**
 * Runs previews, and keeps recent results. Each is queried once and can be shown any number of
 * times.
 */

/** Also covers a preview that first has to read a week of messages. */
const LIFETIME_MS = 15 * 60_000;
/** A console page that is closed does not cancel its preview. */
const UNPOLLED_MS = 60_000;
/** Most conditions are counted within this time, so that the console need not ask again. */
const FIRST_FIGURES_MS = 1_000;
/** A process answers immediately; this allows for a busy one. */
const ACKNOWLEDGED_MS = 3_000;
const SWEEP_EVERY_MS = 5_000;
/** Enough for a few people at work. A new one replaces the oldest. */
const MAX_PREVIEWS = 100;
/**
 * Running ones of one token; a new one ends the oldest. The audiences service runs four, so two are
 * left to other tokens. An author at the console ends one and begins the next.
 */
const MAX_RUNNING_OF_ONE = 2;

export type PreviewView = { id: string; expiresAt: string } & PreviewFigures;

interface Preview {
  /** id of the token that asked */
  token: string;
  question: PreviewQuery;
  partitions: number;
  progress: PreviewProgress;
  /** no further results are accepted */
  over: boolean;
  polledAt: number;
  /** wakes the caller that waits for first figures */
  changed: () => void;
}

export class Previews {
  readonly #previews = new Map<string, Preview>();
  #sweeping: NodeJS.Timeout | undefined;

  constructor(
    private readonly asking: Pick<QueryClient, 'ask' | 'end' | 'partitions'>,
    private readonly now: () => Date,
    /** whose traits an earlier preview must not show any more */
    private readonly forgotten: Pick<Forgotten, 'wasDeletedSince'>,
  ) {}

  /**
   * Starts a preview, and waits briefly for first figures.
   * @param token id of the token that asks
   * @throws Problem `unavailable` if no process answers; AppError `kafka_unavailable`, `overloaded`
   */
  async start(
    asked: Pick<PreviewQuery, 'condition' | 'sources'>,
    token: string,
  ): Promise<PreviewView> {
    const now = this.now();
    const id = newId('pre', now);
    const question = {
      kind: 'preview' as const,
      id,
      expiresAt: now.getTime() + LIFETIME_MS,
      ...asked,
    };
    const partitions = await this.asking.partitions();
    const preview: Preview = {
      token,
      question,
      partitions,
      progress: NO_PROGRESS,
      over: false,
      polledAt: now.getTime(),
      changed: () => undefined,
    };
    this.#replaceOldest(token);
    this.#keep(id, preview);
    try {
      await this.asking.ask(question, (answer) => {
        preview.progress = withAnswer(preview.progress, answer);
        if (isDone(preview.progress, partitions) || preview.progress.refused !== undefined) {
          this.#end(preview);
        }
        preview.changed();
      });
    } catch (error) {
      this.#previews.delete(id);
      throw error;
    }
    await this.#first(preview);
    if (preview.progress.isAcknowledged) return this.#viewOf(preview);
    this.end(id);
    throw nobodyThere();
  }

  get(id: string): PreviewView {
    const preview = this.#previews.get(id);
    if (!preview) {
      throw new Problem('not_found', `Unknown preview ${quoted(id)}. It may have expired`);
    }
    preview.polledAt = this.now().getTime();
    return this.#viewOf(preview);
  }

  /** Cancels a preview. @throws Problem `not_found` */
  end(id: string): void {
    this.get(id);
    this.#forget(id);
  }

  /** Ends previews that were not requested for a minute, and expired ones. */
  sweep(): void {
    const nowMs = this.now().getTime();
    for (const [id, preview] of this.#previews) {
      if (preview.question.expiresAt <= nowMs) this.#forget(id);
      else if (!preview.over && nowMs - preview.polledAt > UNPOLLED_MS) this.#forget(id);
    }
  }

  stop(): void {
    for (const id of this.#previews.keys()) this.#forget(id);
  }

  #keep(id: string, preview: Preview): void {
    const [oldest] = this.#previews.keys();
    if (this.#previews.size >= MAX_PREVIEWS && oldest !== undefined) this.#forget(oldest);
    this.#previews.set(id, preview);
    this.#sweeping ??= setInterval(() => this.sweep(), SWEEP_EVERY_MS).unref();
  }

  #replaceOldest(token: string): void {
    const running = [...this.#previews.values()].filter(
      (preview) => preview.token === token && !preview.over,
    );
    const [oldest] = running;
    if (!oldest || running.length < MAX_RUNNING_OF_ONE) return;
    const refused = 'A newer preview of the same token took its place. Request it again';
    oldest.progress = { ...oldest.progress, isAcknowledged: true, refused };
    this.#end(oldest);
    oldest.changed();
  }

  #forget(id: string): void {
    const preview = this.#previews.get(id);
    this.#previews.delete(id);
    if (preview) this.#end(preview);
    if (this.#previews.size > 0) return;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
  }

  #end(preview: Preview): void {
    if (preview.over) return;
    preview.over = true;
    this.asking.end(preview.question.id, { withdraw: true, nowMs: this.now().getTime() });
  }

  /**
   * Waits for figures up to `FIRST_FIGURES_MS`, or up to `ACKNOWLEDGED_MS` for any sign of a
   * process.
   */
  async #first(preview: Preview): Promise<void> {
    const wait = (ms: number, enough: () => boolean) =>
      withTimeout(
        ms,
        new Promise<void>((resolve) => {
          preview.changed = () => enough() && resolve();
          preview.changed();
        }),
      );
    await wait(FIRST_FIGURES_MS, () => preview.over || hasFigures(preview.progress));
    if (!preview.progress.isAcknowledged) {
      await wait(ACKNOWLEDGED_MS - FIRST_FIGURES_MS, () => preview.progress.isAcknowledged);
    }
    preview.changed = () => undefined;
  }

  #viewOf({ question, partitions, progress, over }: Preview): PreviewView {
    const expiresAt = isoTime(question.expiresAt);
    const { sample, ...figures } = figuresOf(progress, partitions, over);
    const askedAt = question.expiresAt - LIFETIME_MS;
    const shown = sample.filter(({ userId }) => !this.forgotten.wasDeletedSince(userId, askedAt));
    return { id: question.id, ...figures, sample: shown, expiresAt };
  }
}
