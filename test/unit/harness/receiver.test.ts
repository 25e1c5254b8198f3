import { failedMembers } from '../../../services/delivery/batches/failed-members';
import { classifyStatus } from '../../../shared/model/classify-response';
import { readHead } from '../../../tools/harness/raw-server';
import { CONTROLS, namingBody } from '../../../tools/harness/receiver';

const request = (body: string, headers = '') =>
  `POST /ok/customer HTTP/1.1\r\nhost: x\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;

describe('the head of a request', () => {
  test('readHead returns the end of the request, its path and its delivery id', () => {
    const text = request('{"a":1}', 'Webhook-Id: dlv_1\r\n');
    expect(readHead(Buffer.from(text), 0, true)).toEqual({
      end: text.length,
      path: '/ok/customer',
      id: 'dlv_1',
      deliveries: undefined,
    });
  });

  test('readHead returns the ids of the deliveries of a batch', () => {
    const text = request('[{},{}]', 'webhook-id: bat_1\r\nwaypost-deliveries: dlv_1,dlv_2\r\n');
    expect(readHead(Buffer.from(text), 0, true)).toMatchObject({
      id: 'bat_1',
      deliveries: ['dlv_1', 'dlv_2'],
    });
  });

  test('readHead reads a request behind another one', () => {
    const first = request('one');
    const second = request('two!');
    expect(readHead(Buffer.from(first + second), first.length, false)?.end).toBe(
      first.length + second.length,
    );
  });

  test('readHead returns the end of a request whose body has not arrived', () => {
    const text = request('0123456789');
    expect(readHead(Buffer.from(text.slice(0, -4)), 0, false)?.end).toBe(text.length);
  });

  test('readHead returns undefined until the whole head has arrived', () => {
    expect(readHead(Buffer.from('POST / HTTP/1.1\r\nhost: x\r\n'), 0, true)).toBeUndefined();
  });

  test('a request without a length has no body', () => {
    const text = 'POST / HTTP/1.1\r\nhost: x\r\n\r\n';
    expect(readHead(Buffer.from(text), 0, true)).toEqual({
      end: text.length,
      path: '/',
      id: '',
      deliveries: undefined,
    });
  });
});

test('a hostile answer has 16 KB of control characters, and a status that is retried', () => {
  const [head = '', body = ''] = CONTROLS.toString('latin1').split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 425 .*content-length: 16384$/s);
  expect(body).toBe('\u0001'.repeat(16_384));
  expect(classifyStatus(425)).toBe('retry');
});

test.each([1, 2, 100])(
  'an answer to a batch of %i names all members but the first, at the longest length that is read',
  (size) => {
    const text = namingBody(size);
    expect(text.length).toBeGreaterThan(16_000);
    expect(text.length).toBeLessThanOrEqual(16_384);
    const headers = { 'content-type': 'application/json' };
    const failed = failedMembers({ body: Buffer.from(text), headers, truncated: false }, size)!;
    expect([...failed.keys()]).toEqual([...Array(size).keys()].slice(1));
    expect([...failed.values()].every((status) => classifyStatus(status) === 'retry')).toBe(true);
  },
);
