/** Returns numbers that look random but depend only on their input. Pure. */

/** @returns 0 to 1, from the number of a delivery and of a question about it */
export function share(i: number, question: number): number {
  let x = Math.imul(i ^ (question * 0x9e3779b9), 0x85ebca6b);
  x ^= x >>> 13;
  x = Math.imul(x, 0xc2b2ae35);
  x ^= x >>> 16;
  x = Math.imul(x, 0x27d4eb2f);
  x ^= x >>> 15;
  return (x >>> 0) / 2 ** 32;
}

/** @returns a whole number from 0 to `below` */
export function at(i: number, question: number, below: number): number {
  return Math.floor(share(i, question) * below);
}
