/** The body of a batch, and the response to one. Pure. */

const COMMA = Buffer.from(',');
const [OPEN, CLOSE] = [Buffer.from('['), Buffer.from(']')];

/** Bytes of an array beside its elements and the commas between them. */
const BRACKETS = 2;

/** Returns the length of the array in bytes. @param elementBytes total of the elements */
export function batchBytes(count: number, elementBytes: number): number {
  return elementBytes + Math.max(0, count - 1) + BRACKETS;
}

/** Joins JSON texts to an array, without reading them. */
export function joinBodies(bodies: readonly Buffer[]): Buffer {
  const parts: Buffer[] = [OPEN];
  bodies.forEach((body, i) => parts.push(...(i > 0 ? [COMMA, body] : [body])));
  return Buffer.concat([...parts, CLOSE]);
}

/**
 * Joins the bodies. Each holder then has its part of the array, so that no body is in memory twice.
 */
export function joinInPlace(holders: readonly { body: Buffer }[]): Buffer {
  const body = joinBodies(holders.map((holder) => holder.body));
  let at = 1;
  for (const holder of holders) {
    const { length } = holder.body;
    holder.body = body.subarray(at, at + length);
    at += length + 1;
  }
  return body;
}

const LEAST_STATUS = 100;
const MOST_STATUS = 599;

/**
 * Returns the members that a 2xx names as failed, with the status of each; none if the response is
 * anything but `{"failed": [{"index": 3, "status": 503}, …]}`: then the 2xx holds for all members.
 * @param body the whole response
 * @param size of the batch
 */
export function failedMembers(body: Buffer, size: number): ReadonlyMap<number, number> {
  const failed = new Map<number, number>();
  for (const entry of failuresIn(body)) {
    const { index, status } = (entry ?? {}) as { index?: unknown; status?: unknown };
    if (!isWithin(index, 0, size - 1) || !isWithin(status, LEAST_STATUS, MOST_STATUS)) {
      return new Map();
    }
    failed.set(index, status);
  }
  return failed;
}

function failuresIn(body: Buffer): readonly unknown[] {
  if (!body.includes('"failed"')) return [];
  try {
    const { failed } = JSON.parse(body.toString('utf8')) as { failed?: unknown };
    return Array.isArray(failed) ? failed : [];
  } catch {
    return [];
  }
}

function isWithin(value: unknown, least: number, most: number): value is number {
  return Number.isInteger(value) && least <= Number(value) && Number(value) <= most;
}
