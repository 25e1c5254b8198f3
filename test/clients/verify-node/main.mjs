// Verifies a request by the `verify` of a page: the secret is the argument, the request is JSON on standard input. Exits
// with 0 only if the signature is right.
import { readFileSync } from 'node:fs';
import { verify } from './verify.mjs';

const { headers, body } = JSON.parse(readFileSync(0, 'utf8'));
verify(headers, body, process.argv[2]);
