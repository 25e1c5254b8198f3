import { parseJson, stringifyJson } from '../../shared/json/json';
import { printable } from '../../shared/runtime/printable';
import { type Printer } from '../output/print';
import { bad, doubtful, good, plain, type Paint } from '../output/paint';
import { userOf, whatOf } from '../output/events';
import { type Answer } from './forward';
import { type Forward, type LeftOut } from './choose-events';

/** Prints the progress of a listener and its final counts. */

export interface Counts {
  received: number;
  forwarded: number;
  answered2xx: number;
  otherAnswers: number;
  timeouts: number;
  /** requests beyond the first for an event, after a broken connection */
  repeated: number;
  /** dropped because the queue was full while the local server was away or slow */
  dropped: number;
  /** accepted, but not sent or without a response at the end */
  unsent: number;
  /** no longer stored by the server; a lower bound */
  missed: number;
  leftOut: Partial<Record<LeftOut, number>>;
}

export class Report {
  readonly counts: Counts = {
    received: 0,
    forwarded: 0,
    answered2xx: 0,
    otherAnswers: 0,
    timeouts: 0,
    repeated: 0,
    dropped: 0,
    unsent: 0,
    missed: 0,
    leftOut: {},
  };

  constructor(
    private readonly print: Printer,
    /** print only failures */
    private readonly quiet: boolean,
  ) {}

  leftOut(why: LeftOut): void {
    this.counts.leftOut[why] = (this.counts.leftOut[why] ?? 0) + 1;
  }

  dropped(): void {
    // One line for each would be thousands of equal lines.
    if (this.counts.dropped++ === 0) {
      this.#say('The queue is full; new events are dropped.');
    }
  }

  missed(atLeast: number): void {
    this.counts.missed += atLeast;
    const many = atLeast > 0 ? `${String(atLeast)} events or more` : 'Some events';
    this.#say(`${many} were missed: the server stores the last 500 of a source.`);
  }

  answered({ id, event }: Forward, { status, ms, tries }: Answer): void {
    const { counts } = this;
    const fine = status !== undefined && status >= 200 && status < 300;
    counts.forwarded++;
    counts.repeated += tries - 1;
    if (status === undefined) counts.timeouts++;
    else if (fine) counts.answered2xx++;
    else counts.otherAnswers++;
    if (fine && this.quiet) return;
    const took = Math.round(ms);
    const value = {
      event: event.id,
      delivery: id,
      status: status ?? null,
      durationMs: took,
      tries,
    };
    const shown = this.print.colour
      ? paintOf(status)(String(status ?? 'no response'))
      : String(status ?? 'no response');
    const again = tries > 1 ? `try ${String(tries)}` : '';
    const parts = [event.at, shown, `${String(took)} ms`, this.#wordsOf(event), again];
    this.print.line(value, parts.filter(Boolean).join('  '));
  }

  selected({ id, event }: Forward): void {
    this.#say(`Selected ${id}: ${this.#wordsOf(event)}`);
  }

  inspected(
    forward: Forward,
    { status, response = '' }: Answer,
    headers: Record<string, string>,
  ): void {
    const lines = [
      `${forward.id}: ${this.#wordsOf(forward.event)}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      '',
      ...stringifyJson(parseJson(forward.body.toString()), 2).split('\n'),
      '',
      `Response: ${String(status ?? 'none')}`,
      ...response.split('\n'),
    ];
    // Filter each line, so that a sender cannot control the terminal.
    this.#say(lines.map(printable).join('\n'));
  }

  #wordsOf(event: Forward['event']): string {
    const call = event.call as { type?: string };
    const words = [call.type, whatOf(event), userOf(event)].map((word) => printable(word ?? ''));
    return words.filter((word) => word !== '').join('  ');
  }

  away(why: string | undefined, target: string): void {
    this.#say(
      why === undefined
        ? `${target} is back.`
        : `${target} is away (${why}). Events are queued until it is back.`,
    );
  }

  stream(why: string | undefined): void {
    this.#say(
      why === undefined
        ? 'The event stream is back.'
        : `The event stream ended (${why}). Reconnecting.`,
    );
  }

  end(unsent: number): void {
    const { counts } = this;
    counts.unsent = unsent;
    if (this.print.json) return this.print.line({ summary: counts }, '');
    const other = Object.entries(counts.leftOut).map(([why, n]) => `${why} ${String(n)}`);
    const parts = [
      `received ${String(counts.received)}`,
      `forwarded ${String(counts.forwarded)} (2xx ${String(counts.answered2xx)}, others ` +
        `${String(counts.otherAnswers)}, no response ${String(counts.timeouts)})`,
      `repeated ${String(counts.repeated)}`,
      `dropped ${String(counts.dropped)}`,
      `unsent ${String(counts.unsent)}`,
      `missed ${String(counts.missed)}`,
      `skipped ${other.join(', ') || '0'}`,
    ];
    this.print.note(parts.join(', '));
  }

  #say(text: string): void {
    this.print.note(text);
  }
}

function paintOf(status: number | undefined): Paint {
  if (status === undefined || status >= 500) return bad;
  if (status >= 400) return doubtful;
  return status >= 200 && status < 300 ? good : plain;
}
