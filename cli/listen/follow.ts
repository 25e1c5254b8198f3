import { defined } from '../../shared/collections/defined';
import { parseJson } from '../../shared/json/json';
import { type Event, type Operations } from '../../shared/api/operations';
import { readList, type Api, reasonOf, sentenceOf } from '../connect/api';
import { FIRST_PAUSE_MS, LONGEST_PAUSE_MS, mayPass } from '../connect/read-again';
import { ApiProblem } from '../../shared/api/client';
import { backoff, sleep } from '../../shared/runtime/async';
import { CliError } from '../process-context';
import { Recent } from './recent';
import { SseParser, type ServerSent } from './sse';

/**
 * Follows the events of control, each once. After a broken connection, or if the reader was too
 * slow for the stream, it fetches missed events from the list of recent events. Only events that
 * the server no longer keeps are lost, and the listener reports them.
 */

type StreamQuery = NonNullable<Operations['GET /events/stream']['query']>;

export interface FollowOptions {
  api: Api;
  query: StreamQuery;
  /** number of earlier events to deliver first */
  replay?: number;
  /** from now on, no event is missed */
  onReady: () => void;
  onEvent: (event: Event) => void;
  /** the server no longer has the missed events; with their number if the server reported one */
  onGap: (atLeast: number) => void;
  onAway: (why: string) => void;
  onBack: () => void;
  stop: AbortSignal;
}

/** More than the server keeps for each source. */
const KNOWN = 20_000;
const PAGE = 200;
/** The server sends at least a comment every 15 s. */
const SILENCE_MS = 40_000;

/**
 * Resolves on stop.
 * @throws CliError if a retry would fail the same way
 */
export async function follow(options: FollowOptions): Promise<void> {
  await new Follower(options).run();
}

class Follower {
  readonly #known = new Recent(KNOWN);
  /** the id of the last delivered event */
  #last: string | undefined;
  /** older events were there before this listener; undefined: there were none */
  #floor: string | undefined;

  constructor(private readonly options: FollowOptions) {}

  async run(): Promise<void> {
    const { stop, onReady, onAway, onBack } = this.options;
    await this.#begin();
    onReady();
    const retry = backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, (ms) => sleep(ms, { signal: stop }));
    for (let again = false; !stop.aborted; again = true) {
      const connected = () => {
        if (again) onBack();
        retry.reset();
      };
      const why = await this.#connectOnce(again, connected);
      if (this.#stopped()) return;
      onAway(why);
      await retry.pause();
    }
  }

  #stopped(): boolean {
    return this.options.stop.aborted;
  }

  /**
   * Reads the existing events, so that none is missed between now and the first event. It reads a
   * page: the newest event is not always the last accepted one, and earlier events must not appear
   * as new after a restart.
   */
  async #begin(): Promise<void> {
    const { api, query, replay = 0 } = this.options;
    const newest = await readList(api, 'GET /events', { query }, Math.max(PAGE, replay));
    [this.#floor] = newest.map(({ at }) => at).sort();
    for (const [i, event] of [...newest.entries()].reverse()) {
      if (i < replay) this.#give(event);
      else [this.#last] = [event.id, this.#known.add(event.id)];
    }
  }

  /**
   * @returns why it ended
   * @throws CliError
   */
  async #connectOnce(again: boolean, connected: () => void): Promise<string> {
    const { stop } = this.options;
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(new Error('no data')), SILENCE_MS);
    try {
      const body = await this.#open(AbortSignal.any([stop, silence.signal]));
      connected();
      // Without an event to resume from, the stream begins now, which is later than this listener
      // did.
      if (again || this.#last === undefined) await this.#catchUp({ whole: true, missed: 0 });
      const [parser, decoder] = [new SseParser(), new TextDecoder()];
      for await (const chunk of body) {
        timer.refresh();
        for (const sent of parser.push(decoder.decode(chunk, { stream: true }))) {
          await this.#take(sent);
        }
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
        authorization: `Bearer ${api.installation.token}`,
        ...defined({ 'last-event-id': this.#last }),
      },
      signal,
    });
    if (response.ok && response.body) return response.body as AsyncIterable<Uint8Array>;
    const problem = (await response.json().catch(() => ({}))) as ConstructorParameters<
      typeof ApiProblem
    >[1];
    const refused = new ApiProblem(response.status, problem);
    throw new CliError(sentenceOf(refused, api.installation.url), undefined, refused);
  }

  async #take({ event, data }: ServerSent): Promise<void> {
    if (event === 'skipped') {
      const { count } = JSON.parse(data) as { count: number };
      await this.#catchUp({ whole: false, missed: count });
    } else if (event === 'message') {
      this.#give(parseJson(data) as Event);
    }
  }

  #give(event: Event): void {
    this.#last = event.id;
    // If the stream does not know our position, it begins somewhat earlier.
    if (this.#floor !== undefined && event.at < this.#floor) return;
    if (this.#known.add(event.id)) this.options.onEvent(event);
  }

  /**
   * Delivers the events of the list that were not delivered yet. After a restart the server may
   * order its events differently, so the whole list is read. Otherwise everything behind the first
   * known event is known too.
   */
  async #catchUp({ whole, missed }: { whole: boolean; missed: number }): Promise<void> {
    const { api, query, onGap } = this.options;
    const found: Event[] = [];
    let reached = this.#floor === undefined;
    for (let after: string | undefined; ;) {
      const page = {
        ...query,
        limit: PAGE,
        ...defined({ after }),
      };
      const { data } = await api.call('GET /events', { query: page });
      const known = data.data.some(({ id }) => this.#known.has(id));
      reached ||= known;
      found.push(
        ...data.data.filter(({ id, at }) => !this.#known.has(id) && at >= (this.#floor ?? at)),
      );
      if (data.next === null || (known && !whole)) break;
      after = data.next;
    }
    for (const event of found.reverse()) this.#give(event);
    if (!reached) onGap(Math.max(0, missed - found.length));
  }
}
