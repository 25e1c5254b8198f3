import { aSource } from '../../support/fakes';
import { basic, startTestIngest, type TestIngest } from './start';
import { aWriteKey } from '../../support/write-key';

let ingest: TestIngest;
beforeEach(async () => (ingest = await startTestIngest()));
afterEach(() => ingest.stop());

const track = { type: 'track', userId: 'u', event: 'e' };
const encoded = (text: string) => ({
  authorization: `Basic ${Buffer.from(text).toString('base64')}`,
});
const none = { authorization: '' };

describe('where the write key is found', () => {
  test.each([
    ['Basic', basic('key-1'), { batch: [track] }],
    ['Basic without its colon', encoded('key-1'), { batch: [track] }],
    ['Basic with a password', encoded('key-1:x:y'), { batch: [track] }],
    [
      'basic, lower case',
      { authorization: basic('key-1').authorization!.replace('B', 'b') },
      { batch: [track] },
    ],
    ['Basic before the body', basic('key-1'), { writeKey: 'nobody', batch: [track] }],
    ['the envelope', none, { writeKey: 'key-1', batch: [track] }],
    [
      'the envelope, with a Bearer',
      { authorization: 'Bearer abc' },
      { writeKey: 'key-1', batch: [track] },
    ],
    ['the envelope, with an empty Basic', encoded(':'), { writeKey: 'key-1', batch: [track] }],
    [
      'the envelope before its first item',
      none,
      { writeKey: 'key-1', batch: [{ ...track, writeKey: 'nobody' }] },
    ],
    ['the first item', none, { batch: [{ ...track, writeKey: 'key-1' }, track] }],
  ])('ingest finds the write key here: %s', async (_, headers, body) => {
    expect(await ingest.post('/v1/batch', body, headers)).toMatchObject({ status: 200 });
    expect(ingest.producer.appends[0]![0]).toMatchObject({ key: 'src_1:u' });
    expect(String(ingest.producer.appends[0]![0]!.value)).not.toContain('writeKey');
  });

  test.each(['/beacon/v1/batch', '/v1/batch', '/batch', '/b'])(
    'ingest finds the write key in the query of %s',
    async (path) => {
      const url = `${path}?writeKey=key-1&v=1`;
      expect(await ingest.post(url, { batch: [track] }, none)).toMatchObject({ status: 200 });
      expect(ingest.producer.appends[0]![0]).toMatchObject({ key: 'src_1:u' });
    },
  );

  test('Basic comes before the query, and the query before the body', async () => {
    const nobody = { batch: [track], writeKey: 'nobody' };
    expect(await ingest.post('/v1/batch?writeKey=nobody', { batch: [track] })).toMatchObject({
      status: 200,
    });
    expect(await ingest.post('/v1/batch?writeKey=key-1', nobody, none)).toMatchObject({
      status: 200,
    });
    expect(
      await ingest.post('/v1/t?writeKey=', { ...track, writeKey: 'key-1' }, none),
    ).toMatchObject({ status: 200 });
  });

  test('ingest finds the write key in the body of a single call', async () => {
    expect(await ingest.post('/v1/t', { ...track, writeKey: 'key-1' }, none)).toMatchObject({
      status: 200,
    });
  });
});

describe('which keys are refused', () => {
  test.each([
    ['missing_write_key', none, { batch: [track] }],
    ['missing_write_key', none, { batch: [track, { ...track, writeKey: 'key-1' }] }],
    ['missing_write_key', none, { writeKey: 5, batch: [track] }],
    ['unknown_write_key', basic('nobody'), { batch: [track] }],
    ['unknown_write_key', basic('__proto__'), { batch: [track] }],
    ['unknown_write_key', basic('key-old'), { batch: [track] }],
    ['source_disabled', basic('key-off'), { batch: [track] }],
  ])('ingest refuses a request with %s', async (code, headers, body) => {
    const answer = await ingest.post('/v1/batch', body, headers);
    expect(answer).toMatchObject({
      status: 401,
      body: { success: false, code, message: expect.any(String) },
    });
    expect(ingest.producer.appends).toEqual([]);
  });

  test('an unknown key reads config again each time, and a known key does not', async () => {
    await ingest.post('/v1/t', track);
    expect(ingest.config.refreshes).toBe(0);
    await ingest.post('/v1/t', track, basic('nobody'));
    await ingest.post('/v1/t', track, basic('nobody'));
    expect(ingest.config.refreshes).toBe(2);
  });

  test('a key that was created a moment ago is accepted', async () => {
    ingest.config.addUnseen(aSource({ id: 'src_new', writeKeys: [aWriteKey('key-fresh')] }));
    expect(await ingest.post('/v1/t', track, basic('key-fresh'))).toMatchObject({ status: 200 });
  });

  test('a source that was enabled a moment ago is accepted', async () => {
    ingest.config.addUnseen(aSource({ id: 'src_off', writeKeys: [aWriteKey('key-off')] }));
    expect(await ingest.post('/v1/t', track, basic('key-off'))).toMatchObject({ status: 200 });
  });

  test.each(['nobody', 'key-off'])(
    'the key %s gets 503 while config cannot be read',
    async (key) => {
      ingest.config.away = true;
      const answer = await ingest.post('/v1/t', track, basic(key));
      expect(answer).toMatchObject({
        status: 503,
        body: { success: false, code: 'config_unavailable' },
      });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(await ingest.post('/v1/t', track)).toMatchObject({ status: 200 });
    },
  );
});
