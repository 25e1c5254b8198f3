/** Parses Server-Sent Events from the chunks of a connection. */

export interface ServerSent {
  /** `message` if the server names none */
  event: string;
  data: string;
  id: string | undefined;
}

/** An event is 32 KB at most. A server that sends this much without an end is not Waypost. */
const MAX_PENDING = 4 * 1024 * 1024;

export class SseParser {
  #pending = '';
  #event: Partial<ServerSent> & { lines?: string[] } = {};

  /**
   * @returns the events that are now complete
   * @throws RangeError for an endless line
   */
  push(chunk: string): ServerSent[] {
    const lines = (this.#pending + chunk).split('\n');
    this.#pending = lines.pop() ?? '';
    if (this.#pending.length > MAX_PENDING) {
      throw new RangeError('an event of the stream is too long');
    }
    return lines.flatMap(
      (line) => this.#line(line.endsWith('\r') ? line.slice(0, -1) : line) ?? [],
    );
  }

  #line(line: string): ServerSent | undefined {
    if (line === '') return this.#complete();
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (field === 'data') (this.#event.lines ??= []).push(value);
    else if (field === 'event') this.#event.event = value;
    else if (field === 'id') this.#event.id = value;
    return undefined;
  }

  #complete(): ServerSent | undefined {
    const { lines, event = 'message', id } = this.#event;
    this.#event = {};
    return lines && { event, id, data: lines.join('\n') };
  }
}
