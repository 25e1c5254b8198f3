import { type Definition, ofAudience } from '../../../services/audiences/definitions/compile';
import { anAudience } from '../../support/factories';
import { PARTITIONS, USERS, World } from './audience-simulation';

/** Uploaded members: the values at receivers after complete and incomplete uploads. */

const audience = anAudience({ id: 'aud_l' });

function begin() {
  const world = new World();
  const definition: Definition = ofAudience(audience, () => undefined);
  world.define([definition]);
  world.settle();
  let number = 0;
  let from = world.ends;
  const write = (lines: Record<string, boolean>) => {
    from = world.ends;
    number++;
    for (const line of Object.entries(lines)) world.list('aud_l', number, line);
    return number;
  };
  const complete = (upload: number, full: boolean) => {
    world.endUpload('aud_l', upload, full, from);
    world.settle();
  };
  const members = () => USERS.filter((user) => world.known.get(`aud_l ${user}`)?.value === true);
  return { world, write, complete, members };
}

test('a full set is compared with the previous one, and a change adds and removes members', () => {
  const { world, write, complete, members } = begin();
  complete(write({ ann: true, bob: true }), true);
  expect(members()).toEqual(['ann', 'bob']);
  const { sentValues } = world;
  complete(write({ bob: true, cyn: true }), true);
  expect(members()).toEqual(['bob', 'cyn']);
  expect(world.sentValues - sentValues).toBe(2);
  complete(write({ bob: false, dan: true }), false);
  expect(members()).toEqual(['cyn', 'dan']);
});

test('uploading the same set again sends nothing', () => {
  const { world, write, complete } = begin();
  complete(write({ ann: true, bob: true }), true);
  const { sentValues } = world;
  complete(write({ ann: true, bob: true }), true);
  expect(world.sentValues).toBe(sentValues);
});

test('an incomplete upload changes nothing, not even with the next upload', () => {
  const { world, write, complete, members } = begin();
  complete(write({ ann: true }), true);
  write({ bob: true, ann: false });
  world.settle();
  expect(members()).toEqual(['ann']);
  complete(write({ cyn: true }), false);
  expect(members()).toEqual(['ann', 'cyn']);
});

test('an unknown user can be a member, and members survive the loss of a store', () => {
  const { world, write, complete, members } = begin();
  complete(write({ dan: true }), true);
  for (let p = 0; p < PARTITIONS; p++) world.restart(p, 'lost');
  world.settle();
  complete(write({ ann: true }), false);
  expect(members()).toEqual(['ann', 'dan']);
});

test('a deletion between the line of a user and the end of the upload removes the line', () => {
  const { world, write, complete, members } = begin();
  const upload = write({ ann: true, bob: true });
  world.nowMs++;
  world.delete('ann', null);
  complete(upload, true);
  expect(members()).toEqual(['bob']);
  expect(world.processors.map(({ store }) => store.get('ann'))).toEqual([undefined, undefined]);
});
