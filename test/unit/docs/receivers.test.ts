import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/runtime/repo-root';
import { makeCertificate } from '../../support/certificate';
import { controlUnderTest, type ControlUnderTest } from '../../support/control';
import { blocksOf } from '../../support/doc-blocks';

/**
 * Creates the destination of each page of docs/guide/receivers, and compares the body for its
 * example.
 */

const FOLDER = 'docs/guide/receivers';
const pages = readdirSync(join(ROOT, FOLDER)).map((page) => `${FOLDER}/${page}`);
const PAGE_OF_TLS = `${FOLDER}/mutual-tls.md`;

/** Returns the JSON of a block by its name: `destination`, `event` or `body`. */
function json(page: string, name: string): unknown {
  const block = blocksOf(page).find(
    ({ mark }) => mark === `run by test/unit/docs/receivers.test.ts: ${name}`,
  );
  return block && JSON.parse(block.code);
}

const YEARS_MS = 50 * 365 * 86_400_000;
const pem = makeCertificate({
  notBefore: new Date(Date.now() - YEARS_MS),
  notAfter: new Date(Date.now() + YEARS_MS),
});

/** Writes real texts for the shortened ones. */
function withPem(destination: object): object {
  const texts: Record<string, string> = { certificate: pem.cert, key: pem.key, ca: pem.cert };
  const real = (name: string, value: unknown) =>
    String(value).includes('…') ? (texts[name] ?? value) : value;
  return JSON.parse(JSON.stringify(destination), real) as object;
}

let control: ControlUnderTest;
let source: string;
beforeAll(async () => {
  control = await controlUnderTest();
  const { body } = await control.call('post', '/sources').send({ name: 'Shop' });
  source = (body as { id: string }).id;
});

test.each(pages)(
  'the destination of %s is accepted, its secrets are kept, and the body is the one on the page',
  async (page) => {
    const destination = withPem(json(page, 'destination') as object);
    const { status, body } = await control
      .call('post', '/destinations')
      .send({ ...destination, sources: [source] });
    expect([status, body]).toEqual([201, expect.anything()]);
    const { id, webhooks } = body as { id: string; webhooks: object[] };
    const again = await control.call('patch', `/destinations/${id}`).send({ webhooks });
    expect([again.status, again.body]).toEqual([200, expect.anything()]);

    const message = json(page, 'event');
    expect(message === undefined).toBe(page === PAGE_OF_TLS);
    if (message === undefined) return;
    const preview = await control
      .call('post', '/destinations/preview')
      .send({ destination: id, message });
    const { body: sent } = preview.body as { body: string };
    expect(preview.status).toBe(200);
    // A message without an event has a source of this name.
    expect(JSON.parse(sent.replace('/sources/preview', '/sources/src_01'))).toEqual(
      json(page, 'body'),
    );
  },
);
