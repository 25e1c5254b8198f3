import { EventEmitter } from 'node:events';
import { type Socket } from 'node:net';
import { TlsFloods } from '../../../../services/delivery/http/tls-floods';

/** When a server sends too much below HTTP, and how long it is left alone then. */

/** A socket that keeps the reasons for which it was ended. */
function aSocket() {
  const ended: string[] = [];
  const events = Object.assign(new EventEmitter(), {
    destroy: (error: Error) => ended.push(error.message),
  });
  return {
    socket: events as unknown as Socket,
    ended,
    emit: (event: string, times: number) => {
      for (let i = 0; i < times; i++) events.emit(event);
    },
  };
}

const KINDS = [
  ['session', 'the endpoint sent more than 8 TLS session tickets'],
  ['keylog', 'the endpoint started the TLS handshake or renewed its keys again and again'],
] as const;

describe.each(KINDS)('events of the kind %s', (event, message) => {
  test('end no connection if each has eight', () => {
    const floods = new TlsFloods(() => 0);
    for (let i = 0; i < 3; i++) {
      const { socket, ended, emit } = aSocket();
      floods.watch(socket, 'a:443');
      emit(event, 8);
      expect(ended).toEqual([]);
    }
    expect(floods.refusal('a:443')).toBeUndefined();
  });

  test('end a connection once, with the ninth', () => {
    const { socket, ended, emit } = aSocket();
    new TlsFloods(() => 0).watch(socket, 'a:443');
    emit(event, 257);
    expect(ended).toEqual([message]);
  });

  test('keep their server, and no other, from new connections for ten seconds', () => {
    let now = 5_000;
    const floods = new TlsFloods(() => now);
    const { socket, emit } = aSocket();
    floods.watch(socket, 'a:443');
    emit(event, 9);
    now += 9_999;
    expect(floods.refusal('a:443')?.message).toBe(
      `${message}, and is not connected to for 10 s after that`,
    );
    expect(floods.refusal('b:443')).toBeUndefined();
    now += 1;
    expect(floods.refusal('a:443')).toBeUndefined();
  });
});

test('the other connections of a server that floods end too, those of other servers stay', () => {
  const floods = new TlsFloods(() => 0);
  const [first, second, closed, other] = [aSocket(), aSocket(), aSocket(), aSocket()];
  for (const each of [first, second, closed]) floods.watch(each.socket, 'a:443');
  floods.watch(other.socket, 'b:443');
  closed.emit('close', 1);
  second.emit('session', 9);
  expect(first.ended).toEqual([floods.refusal('a:443')?.message]);
  expect(second.ended).toEqual(['the endpoint sent more than 8 TLS session tickets']);
  expect([...closed.ended, ...other.ended]).toEqual([]);
});

test('what Node had read before the connection ended makes the pause no longer', () => {
  let now = 0;
  const floods = new TlsFloods(() => now);
  const { socket, emit } = aSocket();
  floods.watch(socket, 'a:443');
  emit('session', 9);
  now = 6_000;
  emit('session', 200);
  now = 10_000;
  expect(floods.refusal('a:443')).toBeUndefined();
});
