import { eventually } from '../eventually';
import { type Call } from '../factories';
import { type Scene } from './administration';

/**
 * Audiences in the console, from the empty list to members at a webhook, on the system of
 * console.test.ts.
 */

const PATH = '/newsletter';
/** For results that pass through several services. */
const LONG_MS = 120_000;
/** To open a page and load its data from the audiences processes, on a busy machine. */
const SHOWN_MS = 10_000;

export const audiences: Record<string, (scene: Scene) => Promise<void>> = {
  'an administrator builds an audience, its members arrive at a webhook, and its page shows them':
    async (scene) => {
      const { stage, tab, isGoodEverywhere } = scene;
      const { page } = tab;
      const newsletter = await stage.system.createDestination({
        name: 'Newsletter',
        sources: [],
        webhooks: [{ url: stage.sink.url(PATH) }],
      });
      await stage.system.createDestination({
        name: 'Archive',
        sources: [],
        webhooks: [{ url: stage.sink.url('/archive') }],
        enabled: false,
      });
      await has(scene, 'ann', 'pro', 2);
      await has(scene, 'bob', 'free', 3);
      await has(scene, 'cid', 'pro', 1);
      await stage.settled();

      await page.goto(`${stage.system.controlUrl}/audiences`);
      await page.getByText('No audiences yet').waitFor();
      await page.getByRole('link', { name: 'Build your first audience' }).click();
      await page.getByRole('heading', { name: 'Build an audience' }).waitFor();
      await page.getByText('Not yet: Enter a name').waitFor();
      await page.getByLabel(/^Name/).fill('Loyal Pros');
      await page.getByText('Receivers see the trait loyal_pros').waitFor();

      // With the keyboard alone: the page names missing input, and Tab moves from field to field.
      await page.getByLabel('What', { exact: true }).focus();
      await page.keyboard.press('Tab');
      await page.keyboard.type('plan');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.type('pro');
      const text = page.getByRole('group', { name: 'condition in CEL', exact: true });
      await eventually(async () =>
        expect(await text.textContent()).toBe('has(user.traits.plan) && user.traits.plan == "pro"'),
      );
      const preview = page.getByRole('region', { name: 'Preview', exact: true });
      await preview.getByText('2 users', { exact: true }).waitFor({ timeout: LONG_MS });

      await page.getByRole('button', { name: 'Add a condition' }).click();
      const second = page.getByRole('group', { name: 'Condition 2' });
      await second.getByLabel('What').selectOption('count');
      await page.getByText('Condition 2: Enter an event').waitFor();
      await second.getByLabel('Event').fill('Order Completed');
      await second.getByLabel('Times').fill('2');
      await second.getByLabel('Within the last').fill('30');
      await preview.getByText('1 user', { exact: true }).waitFor({ timeout: LONG_MS });
      await preview.getByRole('cell', { name: 'ann', exact: true }).waitFor();

      await page.getByRole('button', { name: 'Edit as CEL' }).click();
      const written = page.getByLabel('Condition', { exact: true });
      const condition = await written.inputValue();
      expect(condition).toContain('&& count("Order Completed", duration("720h")) >= 2');
      await written.fill(`${condition} &&`);
      await page.getByText(/^Line 2, column \d+: The expression ends too early/).waitFor();
      await isRefused(scene);
      await written.fill(`${condition} && user.traits.plan in ["pro"]`);
      await page.getByText('This condition cannot be shown as rows').waitFor();
      await written.fill(condition);
      await page.getByRole('button', { name: 'Edit as rows' }).click();
      await eventually(async () => expect(await second.getByLabel('Times').inputValue()).toBe('2'));

      await chooseDestination(scene, 'Newsletter');
      await chooseDestination(scene, 'Archive (off)');
      await page.getByText('Archive: disabled.').waitFor();
      // Takes the last one back.
      await page.getByRole('combobox', { name: 'Destinations' }).press('Backspace');
      await page.getByText('Archive: disabled.').waitFor({ state: 'detached' });
      await page.getByLabel('Sync interval').fill('1s');
      await isGoodEverywhere();
      await page.getByRole('button', { name: 'Create audience' }).click();

      await page.getByRole('heading', { name: 'Loyal Pros' }).waitFor();
      await eventually(() => expect(told(scene)).toEqual([['ann', { loyal_pros: true }]]), {
        deadlineMs: LONG_MS,
      });
      await page.locator('.head').getByText('live', { exact: true }).waitFor({ timeout: LONG_MS });
      await has(scene, 'cid', 'pro', 1);
      await eventually(() => expect(told(scene).map(([user]) => user)).toEqual(['ann', 'cid']), {
        deadlineMs: LONG_MS,
      });

      await eventually(
        async () => {
          await page.reload();
          await page.getByText('2 users now').waitFor({ timeout: SHOWN_MS });
        },
        { deadlineMs: LONG_MS },
      );
      await page.getByRole('region', { name: 'Syncs' }).getByRole('row').nth(1).waitFor();
      await page.getByRole('radiogroup', { name: 'Time' }).getByText('7 days').click();
      await page.waitForURL(/span=7d/);
      const size = page.getByRole('region', { name: 'Users over time' }).getByRole('figure');
      await size.locator('svg').first().waitFor();
      await page.goto(page.url().replace('span=7d', 'span=unknown'));
      await page.getByRole('radio', { name: '24 h', checked: true }).waitFor({ state: 'attached' });
      await size.locator('svg').first().waitFor();
      await isGoodEverywhere();
      const parts = page.getByRole('navigation', { name: 'Parts of this page' });
      await parts.getByRole('link', { name: 'Members' }).click();
      await eventually(
        async () => {
          await page.reload();
          await page
            .getByRole('region', { name: 'Members' })
            .getByRole('cell', { name: 'cid', exact: true })
            .waitFor({ timeout: SHOWN_MS });
        },
        { deadlineMs: LONG_MS },
      );
      await isGoodEverywhere();
      const userId = page.getByLabel('User id');
      await userId.fill('bob');
      await userId.press('Enter');
      await page.getByText('“bob” is not a member.').waitFor();
      await page.waitForURL(/user=bob(&|$)/);
      // A blank belongs to the id. The field keeps the focus, so that one can go on typing.
      await userId.fill('ann ');
      await userId.press('Enter');
      await page.waitForURL(/user=ann\+(&|$)/);
      await page.getByText('“ann ” is not a member.').waitFor();
      await page.keyboard.press('Backspace');
      await page.keyboard.press('Enter');
      await page.getByText('“ann” is a member.').waitFor();
      await parts.getByRole('link', { name: 'Changes' }).click();
      await page.getByRole('cell', { name: /^created audience/ }).waitFor();
      await isGoodEverywhere();

      // Another administrator saves first, and neither change is lost.
      await parts.getByRole('link', { name: 'Settings' }).click();
      const id = /\/audiences\/(aud_[^/]+)/.exec(page.url())![1]!;
      await stage.system.control('PATCH', `/audiences/${id}`, { syncEvery: '2s' });
      await page.getByLabel(/^Name/).fill('Our loyal pros');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Someone else changed this while you were editing').waitFor();
      await isRefused(scene);
      await page.getByRole('button', { name: 'Keep both changes' }).click();
      await page.getByRole('heading', { name: 'Our loyal pros' }).waitFor();
      expect((await stage.system.control('GET', `/audiences/${id}`)).body).toMatchObject({
        name: 'Our loyal pros',
        key: 'loyal_pros',
        syncEvery: '2s',
        destinations: [newsletter.id],
      });

      await page.goto(`${stage.system.controlUrl}/audiences/new`);
      await page.getByLabel(/^Name/).fill('loyal PROS');
      await page
        .getByText('It would use the trait loyal_pros, which “Our loyal pros” already uses')
        .first()
        .waitFor();
      await page.getByRole('link', { name: 'Audiences', exact: true }).first().click();
      await page.getByRole('link', { name: 'Our loyal pros' }).waitFor();
      await isGoodEverywhere();
      await page.getByRole('link', { name: 'Our loyal pros' }).click();
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('No audiences yet').waitFor();
    },

  'an administrator uploads a list and creates a computed trait': async (scene) => {
    const { stage, tab, isGood, isGoodEverywhere } = scene;
    const { page } = tab;
    await page.goto(`${stage.system.controlUrl}/audiences/new?by=list`);
    await page.getByLabel(/^Name/).fill('Invited');
    await chooseDestination(scene, 'Newsletter');
    await page.getByLabel('Sync interval').fill('1s');
    await page.getByRole('button', { name: 'Create audience' }).click();
    await page.getByRole('heading', { name: 'Invited' }).waitFor();
    stage.sink.clear();
    const file = (text: string) => ({
      name: 'members',
      mimeType: 'text/plain',
      buffer: Buffer.from(text),
    });
    const upload = async (text: string) => {
      await page.locator('input[type=file]').setInputFiles(file(text));
      await page.getByRole('button', { name: 'Upload' }).click();
    };
    // A CSV shows how its first lines are read, before they count.
    await page
      .locator('input[type=file]')
      .setInputFiles(file('user_id,email\nfay,fay@example.com\n'));
    const first = page.getByRole('group', { name: 'first lines', exact: true });
    await first.getByText('fay').waitFor();
    expect((await first.textContent())!.trim()).toBe('"fay"');
    await upload('dan\n{"user":"eve"}\n');
    await page
      .getByText(/Line 2 must be/)
      .first()
      .waitFor();
    await isRefused(scene);
    await upload('dan\n{"userId":"eve"}\n');
    await page.getByText('2 members uploaded').waitFor();
    const users = () => told(scene).map(([user, traits]) => `${user} ${JSON.stringify(traits)}`);
    await eventually(
      () => expect(users().sort()).toEqual(['dan {"invited":true}', 'eve {"invited":true}']),
      {
        deadlineMs: LONG_MS,
      },
    );
    await page.getByText('The upload is applied.').waitFor();
    // Without a reload.
    const members = page.getByRole('region', { name: 'Members', exact: true });
    await members.getByRole('cell', { name: 'dan', exact: true }).waitFor({ timeout: LONG_MS });
    await isGoodEverywhere();
    const tabs = page.getByRole('navigation', { name: 'Parts' });
    await tabs.getByRole('link', { name: 'Settings' }).click();
    await page.getByText('2 members uploaded').waitFor({ state: 'hidden' });
    await tabs.getByRole('link', { name: 'Members' }).click();
    await page.getByText('2 members uploaded').waitFor();

    stage.sink.clear();
    await page.goto(`${stage.system.controlUrl}/audiences/traits`);
    await page.getByText('No computed traits yet').waitFor();
    await isGood();
    await page.getByRole('link', { name: 'Compute your first trait' }).click();
    await page.getByLabel(/^Name/).fill('Order count');
    await page.getByLabel('Event name').fill('Order Completed');
    await chooseDestination(scene, 'Newsletter');
    await page.getByLabel('Sync interval').fill('1s');
    await isGoodEverywhere();
    await page.getByRole('button', { name: 'Create trait' }).click();
    await page.getByRole('heading', { name: 'Order count' }).waitFor();
    await eventually(() => expect(users()).toContain('bob {"order_count":3}'), {
      deadlineMs: LONG_MS,
    });
    await page.getByRole('link', { name: 'Values', exact: true }).click();
    await eventually(
      async () => {
        await page.reload();
        const row = page.getByRole('region', { name: 'Values' }).getByRole('row', { name: /^bob/ });
        await row.getByRole('cell', { name: '3', exact: true }).waitFor({ timeout: SHOWN_MS });
      },
      { deadlineMs: LONG_MS },
    );
    await isGoodEverywhere();
  },
};

/** Sends a user with a plan and a number of orders. */
async function has(
  { stage, shop }: Scene,
  userId: string,
  plan: string,
  orders: number,
): Promise<void> {
  const calls = Array.from({ length: orders }, () => ({
    type: 'track',
    userId,
    event: 'Order Completed',
  }));
  const batch = [{ type: 'identify', userId, traits: { plan } }, ...calls];
  const { status } = await stage.system.send(shop.writeKey, 'batch', { batch });
  expect(status).toBe(200);
}

/** Returns user and traits of the identify calls that arrived. */
function told({ stage }: Scene): [userId: string, traits: unknown][] {
  const calls = stage.sink.received(PATH).map(({ body }) => JSON.parse(body.toString()) as Call);
  return calls.map(({ userId, traits }) => [userId, traits]);
}

/**
 * Expects refused requests in the browser's console, which writes them by itself, and forgets them.
 */
async function isRefused({ tab }: Scene): Promise<void> {
  await eventually(() => expect(tab.complaints.length).toBeGreaterThan(0));
  expect(tab.complaints.splice(0).filter((text) => !/4(12|22)/.test(text))).toEqual([]);
}

/** Chooses a destination by the field that searches for it. */
async function chooseDestination({ tab: { page } }: Scene, name: string): Promise<void> {
  const field = page.getByRole('combobox', { name: 'Destinations', exact: true });
  await field.fill(name.replace(' (off)', ''));
  // A click of the tool scrolls first, which may hide the list.
  await page.getByRole('option', { name, exact: true }).dispatchEvent('click');
  await field.press('Escape');
}
