/** As much of HTTP/1.1 as the receiver needs: where a request ends, its path and its delivery id. */

/** The head of one request. */
export interface Head {
  /** where the request ends in the data, body included; it may not have arrived yet */
  end: number;
  path: string;
  /** the header webhook-id, '' where there is none or it was not asked for */
  id: string;
}

const END_OF_HEAD = Buffer.from('\r\n\r\n');
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const ID = /\r\nwebhook-id: *([^\r]+)/i;

/**
 * The head of the request that begins at `start`, or undefined where it has not arrived as a whole.
 * @param withId whether to look for the delivery id, which costs a microsecond
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

/** How a path is answered: at once, after so many ms (`/slow-100/…`), or never (`/hang/…`). */
export function delayOf(path: string): number | 'never' {
  if (path.startsWith('/hang')) return 'never';
  if (!path.startsWith('/slow-')) return 0;
  const ms = Number.parseInt(path.slice('/slow-'.length), 10);
  return Number.isNaN(ms) ? 0 : ms;
}
