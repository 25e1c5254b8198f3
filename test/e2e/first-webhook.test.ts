import { aTrack } from '../support/factories';
import { openStorySystem, type StorySystem } from '../support/story-system';
import { isSignedBy } from '../support/verify-signature';

/** The one story of `npm run test:quick`: a call in, a signed webhook out. */

const SECRET = 'a secret of the tests';
let stage: StorySystem;
beforeAll(async () => {
  stage = await openStorySystem({ together: true });
});
afterAll(() => stage.close());

test('a call leaves as a signed POST with its event, its user and its properties', async () => {
  const { sink } = stage;
  const { send } = await stage.connect({
    webhooks: [{ url: sink.url('/first') }],
    sharedSecret: SECRET,
  });
  const { messageId, userId, event, properties } = await send(aTrack());
  const [request] = await sink.waitFor(1, { path: '/first' });
  expect(request?.method).toBe('POST');
  expect(JSON.parse(String(request?.body))).toMatchObject({
    type: 'track',
    messageId,
    userId,
    event,
    properties,
  });
  expect(isSignedBy(SECRET, request!)).toBe(true);
});
