import { type Page } from 'playwright-core';
import { openSection, type Tab } from '../browser';
import { eventually } from '../eventually';
import { aTrack, someTracks } from '../factories';
import { type Scene } from './administration';

/**
 * Stories about the endpoints of a destination in the console. They run on the system of
 * console.test.ts.
 */

const SECRET = 'planted-client-secret';

export const endpoints: Record<string, (scene: Scene) => Promise<void>> = {
  'an administrator connects Slack behind OAuth2, previews an event, and corrects refused fields':
    async ({ stage, tab, shop, isGood, isGoodEverywhere }) => {
      const { page } = tab;
      stage.sink.on('/token', {
        body: JSON.stringify({ access_token: 'planted-token', token_type: 'Bearer' }),
      });
      await stage.system.send(
        shop.writeKey,
        'track',
        aTrack({ event: 'Cart Previewed', userId: 'user-preview' }),
      );
      await eventually(async () => {
        const { body } = await stage.system.control(
          'GET',
          '/events?accepted=true&user=user-preview',
        );
        expect(body.data).toHaveLength(1);
      });
      await page.goto(`${stage.system.controlUrl}/connect/new?sources=${shop.id}`);
      await page.getByRole('radio', { name: /^OAuth2/ }).check();
      await page.getByLabel('Address').fill(stage.sink.url('/slack'));
      await page.getByLabel('Token URL').fill(stage.sink.url('/token'));
      await page.getByLabel('Client id').fill('waypost');
      await page.getByLabel('Client secret').fill(SECRET);

      await openSection(page, 'Request');
      await page.getByLabel('Body', { exact: true }).selectOption('slack');
      await page.getByRole('button', { name: 'Preview with an event' }).click();
      const body = page.getByRole('group', { name: 'previewed body' });
      await body.getByText('"Cart Previewed"').first().waitFor();
      await page
        .getByRole('group', { name: 'previewed request' })
        .getByText('authorization: ***')
        .waitFor();
      await isGoodEverywhere();
      // A mistake of a template is at its field while the user types.
      await page.getByLabel('Body', { exact: true }).selectOption('template');
      await page.getByLabel('Template', { exact: true }).fill('{"text": properties.coupon}');
      await problemOf(page, 'Template').getByText('there is no "coupon"').waitFor();
      await refused(tab);
      await page.getByLabel('Template', { exact: true }).fill('{"text": event + " by " + userId}');
      await body.getByText('"Cart Previewed by user-preview"').waitFor();
      await page.getByLabel('Body', { exact: true }).selectOption('slack');

      await openSection(page, 'TLS');
      await page.getByLabel('Client certificate').fill('no certificate');
      await page.getByLabel('Private key').fill('no key');
      await page.getByRole('button', { name: 'Save and continue' }).click();
      await problemOf(page, 'Client certificate')
        .getByText('is not a certificate in PEM')
        .waitFor();
      await problemOf(page, 'Private key').getByText('is not a private key in PEM').waitFor();
      await refused(tab);
      await isGood();
      await page.getByLabel('Client certificate').fill('');
      await page.getByLabel('Private key').fill('');
      await page.getByRole('button', { name: 'Save and continue' }).click();

      await eventually(
        async () => {
          await page.getByRole('button', { name: 'Send a test' }).click();
          await page.getByText('Test delivered').waitFor({ timeout: 4_000 });
        },
        { deadlineMs: 90_000 },
      );
      const [request] = stage.sink.received('/slack');
      expect(request!.headers.authorization).toBe('Bearer planted-token');
      expect(JSON.parse(request!.body.toString())).toMatchObject({
        blocks: [{ type: 'header' }, {}, {}],
      });
      expect(await page.content()).not.toContain(SECRET);
    },

  'a secret is kept until its host changes, and a destination gets a retry plan and Ed25519 key':
    async ({ stage, tab, shop, isGoodEverywhere }) => {
      const { page } = tab;
      const auth = { type: 'bearer', token: 'planted-bearer' };
      const webhook = { url: stage.sink.url('/kept'), auth };
      const { id } = await stage.system.createDestination({
        name: 'Behind a token',
        sources: [shop.id],
        enabled: false,
        sharedSecret: 'a secret of this one',
        webhooks: [webhook],
      });
      const stored = async () => (await stage.system.control('GET', `/destinations/${id}`)).body;
      await page.goto(`${stage.system.controlUrl}/destinations/${id}/settings`);
      const save = page.getByRole('button', { name: 'Save', exact: true });
      await openSection(page, 'Authentication');
      await page.getByText('Stored, and kept').waitFor();
      await page.getByLabel('Address').fill('http://127.0.0.1:9/kept');
      await problemOf(page, 'Token')
        .getByText('Enter it again: the URL is another address')
        .waitFor();
      await page.getByRole('button', { name: 'Save', exact: true, disabled: true }).waitFor();
      await page.getByText(/not kept because .*: the authentication \(Bearer token\)/).waitFor();
      await page.getByLabel('Address').fill(stage.sink.url('/kept-too'));
      await page.getByText('Stored, and kept').waitFor();

      await openSection(page, 'Retries');
      await page.getByLabel('Delays').fill('2500ms, 1h');
      await page.getByText('Waypost waits 3s, 1h.').waitFor();
      await page.getByLabel('Delays').fill('1ms');
      await openSection(page, 'Signatures');
      await page.getByLabel('Sign with Ed25519 too').check();
      await page.getByLabel('Signature for receivers of other products').selectOption('github');
      await save.click();
      // The page cannot know the shortest delay before the API names it.
      await problemOf(page, 'Delays').getByText('must be at least 500 ms').waitFor();
      await refused(tab);
      await page.getByLabel('Delays').fill('2500ms');
      await save.click();
      await page.getByText('No unsaved changes').waitFor();
      expect(await stored()).toMatchObject({
        webhooks: [
          { url: stage.sink.url('/kept-too'), auth: { type: 'bearer', token: { keep: true } } },
        ],
        signature: { ed25519: true, custom: { header: 'X-Hub-Signature-256' } },
        retry: { delays: ['2500ms'], effectiveDelays: ['3s'] },
      });

      await openSection(page, 'Signatures');
      await page
        .getByRole('group', { name: 'public key', exact: true })
        .getByText('whpk_')
        .waitFor();
      await page.getByRole('button', { name: 'Rotate the Ed25519 key' }).click();
      const dialog = page.getByRole('dialog', { name: 'Rotate the Ed25519 key?' });
      await dialog.getByRole('button', { name: 'Rotate the Ed25519 key' }).click();
      await page.getByRole('group', { name: 'public key 2' }).getByText('whpk_').waitFor();
      // A rotated key does not conflict with the form.
      await page.getByLabel('Rate limit').fill('5');
      await save.click();
      await page.getByText('No unsaved changes').waitFor();
      expect(await stored()).toMatchObject({ maxPerSecond: 5 });
      for (const section of [
        'Authentication',
        'TLS',
        'Request',
        'Signatures',
        'Batches',
        'Retries',
        'Proxy',
      ]) {
        await openSection(page, section);
      }
      await page.setViewportSize({ width: 390, height: 800 });
      await eventually(async () =>
        expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true),
      );
      await page.setViewportSize({ width: 1200, height: 800 });
      await isGoodEverywhere();
      expect(await page.content()).not.toContain('planted-bearer');
    },

  'a URL whose receiver answered 410 is shown as off, and is switched on with what died': async ({
    stage,
    tab,
    isGood,
  }) => {
    const { page } = tab;
    const url = stage.sink.url('/gone');
    stage.sink.on('/gone', { status: 410 });
    const source = await stage.system.createSource('Leaving');
    const { id } = await stage.system.createDestination({
      name: 'Gone',
      sources: [source.id],
      webhooks: [{ url }],
    });
    await stage.settled();
    await stage.system.send(source.writeKey, 'track', aTrack());
    await eventually(async () => {
      const { body } = await stage.system.control('GET', `/destinations/${id}`);
      expect(body.webhooks[0].disabled).toMatchObject({ reason: 'gone' });
    });
    await page.goto(`${stage.system.controlUrl}/destinations/${id}`);
    await page.getByText('Off: its receiver answered 410 (Gone)').waitFor();
    await isGood();
    stage.sink.on('/gone', { status: 200 });
    await page.getByRole('button', { name: `Switch on ${url}` }).click();
    await page.getByText('1 delivery died while the URL was off.').waitFor();
    await page.getByRole('button', { name: 'Replay all that died since then' }).click();
    await page.waitForURL(/\/replays\/rpl_/);
    await stage.sink.waitFor(2, { path: '/gone' });
    await page.goto(`${stage.system.controlUrl}/destinations/${id}`);
    await page.getByRole('button', { name: 'Switch off' }).waitFor();
    await isGood();
  },

  'the page of a delivery says what was odd in a response whose status counts': async ({
    stage,
    tab,
    isGood,
  }) => {
    const { page } = tab;
    const url = stage.sink.url('/dripping');
    stage.sink.on('/dripping', { misbehave: 'drip' });
    const source = await stage.system.createSource('Dripping');
    const { id } = await stage.system.createDestination({
      name: 'Drips',
      sources: [source.id],
      retry: { timeout: '1s' },
      webhooks: [{ url }],
    });
    await stage.settled();
    await stage.system.send(source.writeKey, 'track', aTrack());
    await eventually(async () => {
      const { body } = await stage.system.control('GET', `/deliveries?destination=${id}`);
      expect(body.data).toMatchObject([{ status: 'delivered' }]);
    });
    await page.goto(`${stage.system.controlUrl}/deliveries?destination=${id}`);
    await page.getByRole('link', { name: /, delivered/ }).click();
    await page.getByText(/^The status counts, although /).waitFor();
    await isGood();
  },

  'the page of a delivery shows the other events of its batch': async ({
    stage,
    tab,
    isGood,
    isGoodEverywhere,
  }) => {
    const { page } = tab;
    const source = await stage.system.createSource('Batched');
    const { id } = await stage.system.createDestination({
      name: 'In batches',
      sources: [source.id],
      shards: 1,
      batch: { maxEvents: 3, maxWait: '1m' },
      webhooks: [{ url: stage.sink.url('/batched') }],
    });
    await stage.settled();
    const calls = someTracks(3).map((call, i) => ({ ...call, event: `Event ${'ABC'[i]!}` }));
    await stage.system.send(source.writeKey, 'batch', { batch: calls });
    const [request] = await stage.sink.waitFor(1, { path: '/batched' });
    const names = (JSON.parse(request!.body.toString()) as { event: string }[]).map(
      ({ event }) => event,
    );
    const batch = request!.headers['webhook-id']!;
    await eventually(async () => {
      const { body } = await stage.system.control('GET', `/deliveries?batch=${batch}`);
      expect(body.data).toHaveLength(3);
    });
    await page.goto(`${stage.system.controlUrl}/deliveries?destination=${id}`);
    await page.getByRole('link', { name: `track: ${names[1]!}, delivered` }).click();
    await page.getByText(`Event 2 of 3 in batch ${batch}`).click();
    const members = page.getByRole('list', { name: `Events of batch ${batch}` });
    await members.getByText(`track: ${names[1]!} (this delivery)`).waitFor();
    await eventually(async () => expect(await members.getByRole('listitem').count()).toBe(3));
    await isGoodEverywhere();
    await members.getByRole('link', { name: `Event 3 of the batch: track: ${names[2]!}` }).click();
    await page.getByText(`Event 3 of 3 in batch ${batch}`).waitFor();
    await isGood();
  },
};

/** Returns the wrapper of a field, which holds its problem. */
function problemOf(page: Page, label: string) {
  const exactly = page.locator('label').filter({ hasText: new RegExp(`^${label}$`) });
  return page.locator('.mantine-InputWrapper-root').filter({ has: exactly });
}

/** Forgets the refusals that the browser's console reports by itself. */
async function refused({ complaints }: Tab): Promise<void> {
  const found = await eventually(() => {
    if (complaints.length === 0) throw new Error('the console of the browser has no error');
    return complaints.splice(0);
  });
  expect(found.filter((text) => !text.includes('422'))).toEqual([]);
}
