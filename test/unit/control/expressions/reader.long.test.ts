import { RE2JS } from '@bufbuild/re2';
import supertest from 'supertest';
import { RequestWork } from '../../../../services/control/expressions/work';
import { FORMAT_HEADER } from '../../../../shared/model/record-format';
import { type Known, readerRequests } from '../../../../tools/chaos/reader';
import { controlUnderTest } from '../../../support/control';
import { seedRanges } from '../../../support/cases';

/**
 * A read-only token tries what it may, by a seed, and the test counts the work. The command
 * `node dist/tools/chaos/reader-main.js` does it for minutes, and measures.
 */

afterEach(() => {
  jest.restoreAllMocks();
});

const seen = new Set<string>();

test.each(seedRanges(9, 1))(
  'whatever a read-only token asks with seed %i, a request compiles and holds a bounded amount',
  async (seed) => {
    const control = await controlUnderTest();
    const made = async (path: string, fields: object) =>
      (await control.call('post', path).send(fields)).body as Record<'id' | 'token', string>;
    const { id: source } = await made('/sources', { name: 'Shop' });
    const { id: destination } = await made('/destinations', {
      name: 'Hooks',
      type: 'webhooks',
      sources: [source],
      webhooks: [{ url: 'https://a.example.com/' }],
    });
    const audience = await made('/audiences', { name: 'A', condition: 'count("e") > 1' });
    const trait = await made('/computed-traits', { name: 'T', compute: 'count', event: 'e' });
    const { id: tokenId, token } = await made('/tokens', { name: 'ro', role: 'read_only' });
    const at = '2026-01-01T00:00:00.000Z';
    control.memory.append(
      Array.from({ length: 20 }, (_, i) => ({
        topic: 'messages',
        key: `${source}:u`,
        value: JSON.stringify({
          type: 'track',
          event: 'e',
          messageId: `0123456789abcdef-${i}`,
          timestamp: at,
          receivedAt: at,
          properties: {},
        }),
        headers: { format: FORMAT_HEADER, source },
      })),
    );

    let instructions = 0;
    const compile = RE2JS.compile.bind(RE2JS);
    const compiled: RE2JS[] = [];
    jest.spyOn(RE2JS, 'compile').mockImplementation((text) => {
      const regex = compile(text);
      instructions += regex.re2().prog.numInst();
      compiled.push(regex);
      return regex;
    });
    const pieces = jest.spyOn(RequestWork.prototype, 'measure');
    const held = jest.spyOn(RequestWork.prototype, 'hold');
    const known: Known = {
      ids: {
        '/sources': [source],
        '/destinations': [destination],
        '/audiences': [audience.id],
        '/computed-traits': [trait.id],
        '/tokens': [tokenId],
        // Nothing writes a history here.
        '/audiences/previews': ['none'],
        '/deliveries': ['none'],
        '/deletions': ['none'],
        '/notices': ['none'],
        '/replays': ['none'],
      },
      messages: ['0123456789abcdef-1'],
    };
    const requests = readerRequests(seed, known);
    for (let i = 0; i < 8; i++) {
      const { operation, method, path, body, stream } = requests.next().value;
      // Without an audiences process a preview waits for seconds.
      if (stream || operation === 'POST /audiences/preview') continue;
      instructions = compiled.length = 0;
      pieces.mockClear();
      held.mockClear();
      const call = method.toLowerCase() as 'get' | 'post' | 'delete';
      const { status } = await supertest(control.app)
        [call](`/api/v1${path}`)
        .set('Authorization', `Bearer ${token}`)
        .send(body);
      seen.add(`${operation} ${status}`);
      expect([200, 400, 403, 404, 413, 422, 503]).toContain(status);
      // 22 expressions at most, and the size of each is known before.
      expect(instructions).toBeLessThan(22 * 5_100);
      expect(pieces.mock.calls.length).toBeLessThan(600);
      const bytes = held.mock.calls.reduce((sum, [each]) => sum + each, 0);
      expect(bytes).toBeLessThan(20 * 1024 * 1024);
      for (const regex of compiled) expect(regex.re2().dfa.stateCount).toBeLessThan(350);
    }
  },
);

test('the requests of these seeds reach what they attack', () => {
  expect([...seen]).toEqual(
    expect.arrayContaining([
      'POST /destinations/preview 200',
      'POST /destinations/preview 422',
      'POST /filters/try 200',
    ]),
  );
});
