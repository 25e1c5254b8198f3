import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/runtime/repo-root';
import { markdownPages } from '../../support/doc-pages';

/** Each secret of an example verifies with the libraries of Standard Webhooks: readers copy it. */

/** Standard Webhooks advises 24 to 64 bytes. */
const LEAST_BYTES = 24;
/** Placeholders, and the word that makes a secret. */
const NO_SECRETS = ['…', '***', 'generate'];

test.each(markdownPages('*.md', 'llms.txt', 'examples/*'))(
  'each shared secret in %s is one of Standard Webhooks',
  (page) => {
    const found = readFileSync(join(ROOT, page), 'utf8').matchAll(
      /"?sharedSecret"?: ["']([^"']*)["']/g,
    );
    const secrets = [...found]
      .map(([, secret = '']) => secret)
      .filter((secret) => !NO_SECRETS.includes(secret));
    for (const secret of secrets) {
      const [, base64 = ''] = /^whsec_(.*)$/.exec(secret) ?? [];
      const bytes = Buffer.from(base64, 'base64');
      expect([secret, bytes.toString('base64')]).toEqual([secret, base64]);
      expect(bytes.length).toBeGreaterThanOrEqual(LEAST_BYTES);
    }
  },
);
