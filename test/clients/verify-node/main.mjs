// Verifies a request by the `verify` of a page: its file and the secret are the arguments, the
// request is JSON on standard input. Exits with 0 only if the signature is right.
import { readFileSync } from 'node:fs';
import process from 'node:process';

const [, , file, secret] = process.argv;
const { verify } = await import(file);
const { headers, body } = JSON.parse(readFileSync(0, 'utf8'));
verify(headers, body, secret);
