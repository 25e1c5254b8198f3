/** Joins the bodies of a batch. Pure. */

const COMMA = Buffer.from(',');
const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');

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
