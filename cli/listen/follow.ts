import { type Event, type Operations } from '../../shared/api/operations';
import { all, type Api, reasonOf, sentenceOf } from '../connect/api';
import { ApiProblem } from '../../shared/api/client';
import { pause } from '../time';
import { CliError } from '../process-context';
import { Recent } from './recent';
import { SseParser, type ServerSent } from './sse';

/**
 * Follows the events of control, each once. What a broken connection, or a reader slower than its stream, has missed is
 * fetched from the list of recent events: lost is only what the server no longer keeps, and that is said.
 */

type StreamQuery = NonNullable<Operations['GET /events/stream']['query']>;

export interface FollowOptions {
  api: Api;
  query: StreamQuery;
  /** so many that were before are given first */
  replay?: number;
  onEvent: (event: Event) => void;
  /** the server no longer has what was missed; how many those were where it said so */
  onGap: (atLeast: number) => void;
  onAway: (why: string) => void;
  onBack: () => void;
  stop: AbortSignal;
}

/** More than the server keeps of a source. */
const KNOWN = 20_000;
const PAGE = 200;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
/** It says something every 15 s, if only that it is there. */
const SILENCE_MS = 40_000;

/** Resolves when it is told to stop. @throws CliError where asking again would change nothing */
export async function follow(options: FollowOptions): Promise<void> {
  await new Follower(options).run();
}

class Follower {
  readonly #known = new Recent(KNOWN);
  /** the id of the last event that was given */
  #last: string | undefined;
  /** what is older was there before we came; undefined: there was nothing */
  #floor: string | undefined;

  constructor(private readonly options: FollowOptions) {}

  async run(): Promise<void> {
    const { stop, onAway, onBack } = this.options;
    await this.#begin();
    let pauseMs = FIRST_PAUSE_MS;
    for (let again = false; !stop.aborted; again = true) {
      const connected = () => {
        if (again) onBack();
        pauseMs = FIRST_PAUSE_MS;
      };
      const why = await this.#connectOnce(again, connected);
      if (this.#stopped()) return;
      onAway(why);
      await pause(pauseMs, stop);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  #stopped(): boolean {
    return this.options.stop.aborted;
  }

  /**
   * Learns what there is already, so that nothing between now and the first event can be missed. A page of it: the newest
   * is not always the last that was accepted, and what was there before must not come as new after a restart.
   */
  async #begin(): Promise<void> {
    const { api, query, replay = 0 } = this.options;
    const newest = await all(
      (page) => api.call('GET /events', { query: { ...query, ...page } }),
      Math.max(PAGE, replay),
    );
    [this.#floor] = newest.map(({ at }) => at).sort();
    for (const [i, event] of [...newest.entries()].reverse()) {
      if (i < replay) this.#give(event);
      else [this.#last] = [event.id, this.#known.add(event.id)];
    }
  }

  /** @returns why it ended. @throws CliError */
  async #connectOnce(again: boolean, connected: () => void): Promise<string> {
    const { stop } = this.options;
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(new Error('no data')), SILENCE_MS);
    try {
      const body = await this.#open(AbortSignal.any([stop, silence.signal]));
      connected();
      // Without an event to go on from, the stream begins now, which is later than we did.
      if (again || this.#last === undefined) await this.#catchUp({ whole: true, missed: 0 });
      const [parser, decoder] = [new SseParser(), new TextDecoder()];
      for await (const chunk of body) {
        timer.refresh();
        for (const sent of parser.push(decoder.decode(chunk, { stream: true }))) await this.#take(sent);
      }
      return 'the stream ended';
    } catch (error) {
      if (error instanceof CliError && !mayPass(error)) throw error;
      return reasonOf(error instanceof CliError ? (error.cause ?? error) : error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #open(signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const { api, query } = this.options;
    const search = new URLSearchParams(query as Record<string, string>).toString();
    const response = await fetch(`${api.base}/events/stream${search === '' ? '' : `?${search}`}`, {
      headers: {
        authorization: `Bearer ${api.place.token}`,
        ...(this.#last !== undefined && { 'last-event-id': this.#last }),
      },
      signal,
    });
    if (response.ok && response.body) return response.body as AsyncIterable<Uint8Array>;
    const problem = (await response.json().catch(() => ({}))) as ConstructorParameters<typeof ApiProblem>[1];
    const refused = new ApiProblem(response.status, problem);
    throw new CliError(sentenceOf(refused, api.place.url), undefined, refused);
  }

  async #take({ event, data }: ServerSent): Promise<void> {
    if (event === 'skipped') {
      const { count } = JSON.parse(data) as { count: number };
      await this.#catchUp({ whole: false, missed: count });
    } else if (event === 'message') {
      this.#give(JSON.parse(data) as Event);
    }
  }

  #give(event: Event): void {
    this.#last = event.id;
    // A stream that no longer knows where we were begins somewhat before.
    if (this.#floor !== undefined && event.at < this.#floor) return;
    if (this.#known.add(event.id)) this.options.onEvent(event);
  }

  /**
   * Gives what is on the list and was not given yet. After a restart the server may have its events in another order, so
   * that all of the list is looked at; else what is behind the first that is known is known too.
   */
  async #catchUp({ whole, missed }: { whole: boolean; missed: number }): Promise<void> {
    const { api, query, onGap } = this.options;
    const found: Event[] = [];
    let reached = this.#floor === undefined;
    for (let after: string | undefined; ;) {
      const page = { ...query, limit: PAGE, ...(after !== undefined && { after }) };
      const { data } = await api.call('GET /events', { query: page });
      const known = data.data.some(({ id }) => this.#known.has(id));
      reached ||= known;
      found.push(...data.data.filter(({ id, at }) => !this.#known.has(id) && at >= (this.#floor ?? at)));
      if (data.next === null || (known && !whole)) break;
      after = data.next;
    }
    for (const event of found.reverse()) this.#give(event);
    if (!reached) onGap(Math.max(0, missed - found.length));
  }
}

/** Control restarts, is overloaded, or a proxy before it finds it away. */
function mayPass({ cause }: CliError): boolean {
  if (!(cause instanceof ApiProblem)) return true;
  return cause.status >= 500 || cause.status === 429 || cause.status === 408;
}
