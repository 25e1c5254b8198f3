import { hash } from 'node:crypto';

type Algorithm = 'sha1' | 'sha256' | 'sha512';

const BLOCK_BYTES: Record<Algorithm, number> = { sha1: 64, sha256: 64, sha512: 128 };
const DIGEST_BYTES: Record<Algorithm, number> = { sha1: 20, sha256: 32, sha512: 64 };

/** The buffer for the text to hash. Only one signature is computed at a time. */
let scratch = Buffer.allocUnsafeSlow(16 * 1024);

/**
 * Computes an HMAC (RFC 2104) from one-shot hashes: the result of `crypto.createHmac` at half its
 * cost, since `createHmac` makes a native object for each signature, which the garbage collector
 * must find and free again. The key is kept out of reach of inspection.
 */
export class HmacKey {
  /** the key's inner and outer block, then room for the inner digest */
  readonly #inner: Buffer;
  readonly #outer: Buffer;

  constructor(
    private readonly algorithm: Algorithm,
    key: Buffer,
  ) {
    const blockBytes = BLOCK_BYTES[algorithm];
    const short = key.length > blockBytes ? Buffer.from(hash(algorithm, key, 'hex'), 'hex') : key;
    this.#inner = Buffer.alloc(blockBytes, 0x36);
    this.#outer = Buffer.alloc(blockBytes + DIGEST_BYTES[algorithm], 0x5c);
    for (const [i, byte] of short.entries()) {
      this.#inner[i] = byte ^ 0x36;
      this.#outer[i] = byte ^ 0x5c;
    }
  }

  /** @param head ASCII, before the body */
  sign(head: string, body: Buffer, encoding: 'hex' | 'base64'): string {
    const blockBytes = this.#inner.length;
    const start = blockBytes + head.length;
    const end = start + body.length;
    if (end > scratch.length) scratch = Buffer.allocUnsafeSlow(2 * end);
    scratch.set(this.#inner, 0);
    if (head.length > 0) scratch.write(head, blockBytes, 'latin1');
    scratch.set(body, start);
    this.#outer.write(
      hash(this.algorithm, scratch.subarray(0, end), 'binary'),
      blockBytes,
      'latin1',
    );
    return hash(this.algorithm, this.#outer, encoding);
  }
}
