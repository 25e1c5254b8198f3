import { type Profile } from '../../../../services/audiences/profiles/profile';
import {
  decodeProfile,
  encodeProfile,
} from '../../../../services/audiences/profiles/profile-codec';
import { decodeEvent, encodeEvent } from '../../../../services/audiences/repartition/event';
import { aRecord } from '../../../support/factories';

/** Profiles as the store, the changelog and `profiles.events` have them. */
const STORED: [what: string, profile: Profile, text: string][] = [
  ['nothing', {}, '{}'],
  [
    'every field',
    {
      traits: { src_a: { plan: ['pro', 5], address: [{ c: 'Rome', t: [1, null] }, 6] }, t: {} },
      counters: {
        'aud_a.1.0': { last: [7, 1, 8], buckets: [[3, 2]] },
        c: {
          last: [9, 0, 4],
          buckets: [
            [0, [['x', 2]]],
            [1, [5, null]],
          ],
        },
      },
      sentValues: { aud_a: [true, 10, 1], s: [{ o: 1 }, 11, 2] },
      uploadedMemberships: { aud_l: [4, 1], l: [5, 0] },
      absent: 1,
      full: 1,
    },
    '{"t":{"src_a":{"plan":["pro",5],"address":[{"c":"Rome","t":[1,null]},6]},"t":{}},' +
      '"c":{"aud_a.1.0":{"o":[7,1,8],"b":[[3,2]]},"c":{"o":[9,0,4],"b":[[0,[["x",2]]],[1,[5,null]]]}},' +
      '"s":{"aud_a":[true,10,1],"s":[{"o":1},11,2]},"l":{"aud_l":[4,1],"l":[5,0]},"g":1,"f":1}',
  ],
  [
    'fields in the order in which they were set',
    {
      full: 1,
      sentValues: { aud_a: [true, 10, 1] },
      counters: {},
      traits: { src_a: { plan: ['pro', 5] } },
    },
    '{"f":1,"s":{"aud_a":[true,10,1]},"c":{},"t":{"src_a":{"plan":["pro",5]}}}',
  ],
];

test.each(STORED)(
  'a profile with %s has these bytes, and is read from them',
  (_, profile, text) => {
    expect(encodeProfile(profile).toString()).toBe(text);
    const read = decodeProfile(Buffer.from(text));
    expect(read).toEqual(profile);
    expect(encodeProfile(read).toString()).toBe(text);
  },
);

test.each(STORED)('a profile with %s has these bytes in an event, too', (_, profile, text) => {
  const { value, headers } = encodeEvent({ kind: 'merge', profile });
  expect(value).toBe(`{"kind":"merge","profile":${text}}`);
  const record = aRecord({ key: Buffer.from('ann'), value: Buffer.from(value), headers });
  expect(decodeEvent(record)?.event).toEqual({ kind: 'merge', profile });
});
