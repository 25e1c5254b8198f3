import { readHead } from '../../../tools/harness/raw-server';
import { delayOf } from '../../../tools/harness/receiver';

const request = (body: string, headers = '') =>
  `POST /ok/customer HTTP/1.1\r\nhost: x\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;

describe('the head of a request', () => {
  it('says where the request ends, its path and its delivery id', () => {
    const text = request('{"a":1}', 'Webhook-Id: dlv_1\r\n');
    expect(readHead(Buffer.from(text), 0, true)).toEqual({ end: text.length, path: '/ok/customer', id: 'dlv_1' });
  });

  it('is found behind another one', () => {
    const first = request('one');
    const second = request('two!');
    expect(readHead(Buffer.from(first + second), first.length, false)?.end).toBe(first.length + second.length);
  });

  it('may end before its body has arrived', () => {
    const text = request('0123456789');
    expect(readHead(Buffer.from(text.slice(0, -4)), 0, false)?.end).toBe(text.length);
  });

  it('is not there until all of it has arrived', () => {
    expect(readHead(Buffer.from('POST / HTTP/1.1\r\nhost: x\r\n'), 0, true)).toBeUndefined();
  });

  it('has no body where no length is said', () => {
    const text = 'POST / HTTP/1.1\r\nhost: x\r\n\r\n';
    expect(readHead(Buffer.from(text), 0, true)).toEqual({ end: text.length, path: '/', id: '' });
  });
});

describe('how a path is answered', () => {
  it.each([
    ['/ok/1', 0],
    ['/slow-250/1', 250],
    ['/slow-x', 0],
    ['/hang/1', 'never'],
  ])('%s: %p', (path, delay) => expect(delayOf(path)).toBe(delay));
});
