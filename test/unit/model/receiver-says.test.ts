import { receiverSays } from '../../../shared/model/receiver-says';

test.each<[number, string | undefined, number[], object]>([
  [410, undefined, [], { disables: 'gone' }],
  [410, undefined, [410], {}],
  [410, 'disable', [410], { asked: 'disable', disables: 'asked' }],
  [410, 'abort-message', [], { asked: 'abort-message', disables: 'gone' }],
  [500, 'abort-message', [], { asked: 'abort-message' }],
  [500, ' Disable ', [], { asked: 'disable', disables: 'asked' }],
  [200, 'disable', [], { asked: 'disable', disables: 'asked' }],
  [503, 'abort-message, disable', [], { asked: 'disable', disables: 'asked' }],
  [500, 'later, abort-message', [], { asked: 'abort-message' }],
  [500, 'abort', [], {}],
  [404, undefined, [], {}],
])(
  'a %i with webhook-delivery %j and the retried statuses %j says %j',
  (status, header, retried, expected) =>
    expect(receiverSays(status, header, new Set(retried))).toEqual(expected),
);
