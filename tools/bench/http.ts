/** The part of HTTP/1.1 that the receiver needs: the end of a request, its path and its delivery id. */

/** The head of one request. */
export interface Head {
  /** end of the request in the data, including its body, which may not have arrived yet */
  end: number;
  path: string;
  /** the header webhook-id, '' if it is absent or was not requested */
  id: string;
}

const END_OF_HEAD = Buffer.from('\r\n\r\n');
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const ID = /\r\nwebhook-id: *([^\r]+)/i;

/**
 * Parses the head of the request at `start`; undefined if it is incomplete.
 * @param withId reads the delivery id, which costs a microsecond
 */
export function readHead(data: Buffer, start: number, withId: boolean): Head | undefined {
  const endOfHead = data.indexOf(END_OF_HEAD, start);
  if (endOfHead < 0) return undefined;
  const text = data.toString('latin1', start, endOfHead);
  const path = text.indexOf(' ') + 1;
  return {
    end: endOfHead + END_OF_HEAD.length + Number(LENGTH.exec(text)?.[1] ?? 0),
    path: text.slice(path, text.indexOf(' ', path)),
    id: withId ? (ID.exec(text)?.[1] ?? '') : '',
  };
}

/**
 * Returns the behaviour of a path: an immediate response, one after a delay in ms (`/slow-100/…`), or none
 * (`/hang/…`).
 */
export function delayOf(path: string): number | 'never' {
  if (path.startsWith('/hang')) return 'never';
  if (!path.startsWith('/slow-')) return 0;
  const ms = Number.parseInt(path.slice('/slow-'.length), 10);
  return Number.isNaN(ms) ? 0 : ms;
}
