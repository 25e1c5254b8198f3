import { type PreviewQuery } from '../../../shared/model/profile-queries';
import { Problem } from '../http/problem';
import { type QueryClient, nobodyThere } from './query-client';
import { newId } from '../config/ids';
import {
  figuresOf,
  hasFigures,
  hear,
  isDone,
  type PreviewFigures,
  type PreviewProgress,
  NO_PROGRESS,
} from './preview-progress';

/** Previews under way, and those that ended lately: each is asked once, and shown as often as somebody looks. */

/** Also one that has to read a week of messages first. */
const LIFETIME_MS = 15 * 60_000;
/** A page that was closed does not say so. */
const UNLOOKED_MS = 60_000;
/** Most conditions are counted in that time, and need not be asked for again. */
const FIRST_FIGURES_MS = 1_000;
/** Whoever is there says so at once; one that is busy has a moment. */
const HEARD_MS = 3_000;
const SWEEP_EVERY_MS = 5_000;
/** A few people's: the oldest is forgotten. */
const MAX_PREVIEWS = 100;

export type PreviewView = { id: string; expiresAt: string } & PreviewFigures;

interface Preview {
  question: PreviewQuery;
  partitions: number;
  progress: PreviewProgress;
  /** nobody is listened to any more */
  over: boolean;
  lookedAt: number;
  /** wakes whoever waits for its first figures */
  changed: () => void;
}

export class Previews {
  readonly #previews = new Map<string, Preview>();
  #sweeping: NodeJS.Timeout | undefined;

  constructor(
    private readonly asking: Pick<QueryClient, 'ask' | 'end' | 'partitions'>,
    private readonly now: () => Date,
    private readonly waits: { firstFiguresMs: number; heardMs: number } = {
      firstFiguresMs: FIRST_FIGURES_MS,
      heardMs: HEARD_MS,
    },
  ) {}

  /**
   * Begins one, and waits a moment for its first figures.
   * @throws Problem `unavailable` where nobody answers; AppError `kafka_unavailable`, `overloaded`
   */
  async start(asked: Pick<PreviewQuery, 'condition' | 'sources'>): Promise<PreviewView> {
    const now = this.now();
    const id = newId('pre', now);
    const question = { kind: 'preview' as const, id, expiresAt: now.getTime() + LIFETIME_MS, ...asked };
    const partitions = await this.asking.partitions();
    const preview: Preview = {
      ...{ question, partitions, progress: NO_PROGRESS, over: false, lookedAt: now.getTime() },
      changed: () => undefined,
    };
    this.#keep(id, preview);
    try {
      await this.asking.ask(question, (answer) => {
        preview.progress = hear(preview.progress, answer);
        if (isDone(preview.progress, partitions) || preview.progress.refused !== undefined) this.#end(preview);
        preview.changed();
      });
    } catch (error) {
      this.#previews.delete(id);
      throw error;
    }
    await this.#first(preview);
    if (preview.progress.heard) return viewOf(preview);
    this.end(id);
    throw nobodyThere();
  }

  /** How far it is. @throws Problem `not_found` */
  get(id: string): PreviewView {
    const preview = this.#previews.get(id);
    if (!preview) {
      throw new Problem('not_found', `Unknown preview ${JSON.stringify(id.slice(0, 100))}. It may have expired`);
    }
    preview.lookedAt = this.now().getTime();
    return viewOf(preview);
  }

  /** Nobody wants it any more. @throws Problem `not_found` */
  end(id: string): void {
    this.get(id);
    this.#forget(id);
  }

  /** Ends those that nobody has looked at for a minute, and those whose time is over. */
  sweep(): void {
    const nowMs = this.now().getTime();
    for (const [id, preview] of this.#previews) {
      if (preview.question.expiresAt <= nowMs) this.#forget(id);
      else if (!preview.over && nowMs - preview.lookedAt > UNLOOKED_MS) this.#forget(id);
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

  /** Until there are figures, or for a moment; longer where nobody has been heard of. */
  async #first(preview: Preview): Promise<void> {
    const { firstFiguresMs, heardMs } = this.waits;
    const wait = (ms: number, enough: () => boolean) =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        preview.changed = () => {
          if (!enough()) return;
          clearTimeout(timer);
          resolve();
        };
        preview.changed();
      });
    await wait(firstFiguresMs, () => preview.over || hasFigures(preview.progress));
    if (!preview.progress.heard) await wait(heardMs - firstFiguresMs, () => preview.progress.heard);
    preview.changed = () => undefined;
  }
}

function viewOf({ question, partitions, progress, over }: Preview): PreviewView {
  const expiresAt = new Date(question.expiresAt).toISOString();
  return { id: question.id, ...figuresOf(progress, partitions, over), expiresAt };
}
