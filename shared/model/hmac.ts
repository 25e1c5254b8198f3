import { hash } from 'node:crypto';

/**
 * Computes an HMAC (RFC 2104) from one-shot hashes: the result of `crypto.createHmac` at half its cost, since
 * `createHmac` makes a native object for each signature, which the garbage collector must find and free again. The key
 * is kept out of reach of inspection.
 */

type Algorithm = 'sha1' | 'sha256';

const BLOCK_BYTES = 64;
const DIGEST_BYTES: Record<Algorithm, number> = { sha1: 20, sha256: 32 };

/** The buffer for the text to hash. Only one signature is computed at a time. */
let scratch = Buffer.allocUnsafeSlow(16 * 1024);

export class HmacKey {
  /** the key's inner and outer block, then room for the inner digest */
  readonly #inner: Buffer;
  readonly #outer: Buffer;

  constructor(
    private readonly algorithm: Algorithm,
    key: Buffer,
  ) {
    const short = key.length > BLOCK_BYTES ? Buffer.from(hash(algorithm, key, 'hex'), 'hex') : key;
    this.#inner = Buffer.alloc(BLOCK_BYTES, 0x36);
    this.#outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES[algorithm], 0x5c);
    for (const [i, byte] of short.entries()) {
      this.#inner[i] = byte ^ 0x36;
      this.#outer[i] = byte ^ 0x5c;
    }
  }

  /** @param head ASCII, before the body */
  sign(head: string, body: Buffer, encoding: 'hex' | 'base64'): string {
    const start = BLOCK_BYTES + head.length;
    const end = start + body.length;
    if (end > scratch.length) scratch = Buffer.allocUnsafeSlow(2 * end);
    scratch.set(this.#inner, 0);
    if (head.length > 0) scratch.write(head, BLOCK_BYTES, 'latin1');
    scratch.set(body, start);
    this.#outer.write(hash(this.algorithm, scratch.subarray(0, end), 'binary'), BLOCK_BYTES, 'latin1');
    return hash(this.algorithm, this.#outer, encoding);
  }
}
