import { type Evidence, evidenceOf } from '../../../../services/control/alerts/evidence';
import { applyEvent, type DeliveryRow } from '../../../../services/control/history/delivery-row';
import { type DeliveryEvent } from '../../../../shared/domain/attempt';
import { aCancellation, aDeath, aFailure, anAttempt, at, aUrl, aWait } from '../../../support/events';

const ms = (seconds: number) => Date.parse(at(seconds));

/** What the events of a delivery say, one after the other. */
function said(...events: DeliveryEvent[]): Evidence[] {
  let row: DeliveryRow | undefined;
  return events.flatMap((event) => {
    const after = applyEvent(row, event);
    const evidence = evidenceOf(row, after);
    row = after;
    return evidence;
  });
}
const kinds = (...events: DeliveryEvent[]) => said(...events).map(({ kind }) => kind);
const rejected = anAttempt({ outcome: 'rejected', reason: 'rejected' });

it.each<[string, DeliveryEvent[], Evidence['kind'][]]>([
  ['a delivery', [anAttempt()], ['ok']],
  ['a failure, and a success', [aFailure(), anAttempt({ n: 2, hop: 1, at: at(20) })], ['failed', 'ok']],
  [
    'the same events once more',
    [aFailure(), aFailure(), anAttempt({ n: 2, hop: 1 }), anAttempt({ n: 2, hop: 1 })],
    ['failed', 'ok'],
  ],
  ['an older event after a newer one', [anAttempt({ n: 2, hop: 1, at: at(20) }), aFailure()], ['ok', 'failed']],
  ['waiting', [aWait()], []],
  ['a refusal, and the dead letter after it', [rejected, aDeath()], ['failed', 'dead']],
  ['the dead letter before the refusal', [aDeath(), rejected], ['dead', 'failed']],
  ['a dead letter twice', [aDeath(), aDeath()], ['dead']],
  ['one that dies again after a replay', [aDeath(), aDeath({ replay: 1, at: at(50) })], ['dead', 'dead']],
  ['a cancellation', [aCancellation()], []],
  ['a test', [anAttempt({ test: true }), aDeath({ test: true })], []],
  [
    'what came late of a delivery that was made',
    [anAttempt(), anAttempt({ late: true, urls: [aUrl({ url: 'whk_2' })] })],
    ['ok'],
  ],
])('%s', (_, events, expected) => {
  expect(kinds(...events)).toEqual(expected);
});

it('tells when, until when the next attempt is awaited, and what went wrong', () => {
  expect(said(aFailure())).toEqual([
    { kind: 'failed', destination: 'dst_1', at: ms(1), until: ms(11), error: 'https://a.example: status 503' },
  ]);
  const error = { code: 'timeout' as const, message: 'no complete answer within 5000 ms' };
  const { status: _, ...url } = aUrl({ outcome: 'retry', error });
  expect(said(aFailure({ urls: [url] }))).toMatchObject([
    { error: 'https://a.example: timeout: no complete answer within 5000 ms' },
  ]);
  expect(said(rejected)[0]).toMatchObject({ at: ms(1), until: ms(1) });
});
