import { libraryAccepts } from '../verify-signature';
import { type Tab } from '../browser';
import { eventually } from '../eventually';
import { aTrack } from '../factories';
import { type StorySystem } from '../story-system';
import { type Destination, type Source } from '../../../tools/harness/api';

/**
 * Administration of tokens, secrets, keys and users in the console, on the system of
 * console.test.ts.
 */

export interface Scene {
  stage: StorySystem;
  tab: Tab;
  shop: Source;
  /** delivers to `path` of the stage's sink */
  hook: Destination;
  path: string;
  /** Checks the page for errors and accessibility. */
  isGood: () => Promise<void>;
  /** Does the same in light mode, in dark mode and on a phone. */
  isGoodEverywhere: () => Promise<void>;
}

export const administration: Record<string, (scene: Scene) => Promise<void>> = {
  'an administrator creates a token, which is shown once, changes its role and deletes it': async ({
    stage,
    tab,
    isGood,
  }) => {
    const { page } = tab;
    const may = async (token: string) => {
      const { status, body } = await asked(stage, '/session', token);
      return status === 200 ? (body as { role: string }).role : status;
    };
    await page.goto(`${stage.system.controlUrl}/tokens`);
    await page.getByRole('button', { name: 'New token' }).click();
    await page.getByLabel('Token name').fill('Robot');
    await page.getByRole('button', { name: 'Create token' }).click();
    const token = (await page.getByRole('group', { name: 'new token' }).textContent())!.trim();
    expect(await may(token)).toBe('read_only');
    await isGood();
    await page.getByRole('button', { name: 'Done, I copied it' }).click();
    await page.getByRole('group', { name: 'new token' }).waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(token);

    await page.getByLabel('Role of Robot').selectOption('operator');
    expect(await may(token)).toBe('read_only');
    await page.getByRole('button', { name: 'Change the role' }).click();
    await page.getByRole('button', { name: 'Change the role' }).waitFor({ state: 'detached' });
    expect(await may(token)).toBe('operator');
    await isGood();

    const row = page.getByRole('row', { name: /^Robot/ });
    await row.getByRole('button', { name: 'Delete' }).click();
    await confirm(tab, 'Delete Robot?', 'Delete');
    await row.waitFor({ state: 'detached' });
    expect(await may(token)).toBe(401);
  },

  'a rotated secret is shown once, and both secrets sign during the overlap': async ({
    stage,
    tab,
    hook,
    path,
    shop,
    isGood,
  }) => {
    const { page } = tab;
    const old = 'a secret of before';
    await stage.system.control('PATCH', `/destinations/${hook.id}`, { sharedSecret: old });
    await page.goto(`${stage.system.controlUrl}/destinations/${hook.id}`);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Rotate the secret' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Overlap').fill('1h');
    await dialog.getByRole('button', { name: 'Rotate', exact: true }).click();
    const secret = (await dialog.getByRole('group', { name: 'new secret' }).textContent())!.trim();
    // The secret cannot be shown again, so Escape does not close the dialog.
    await page.keyboard.press('Escape');
    await dialog.getByText('Shown only once').waitFor();
    await isGood();
    await dialog.getByRole('button', { name: 'Done, I copied it' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(secret);
    // Until delivery has read the change, the old secret signs alone.
    await eventually(async () => {
      await stage.system.send(shop.writeKey, 'track', aTrack());
      const request = stage.sink.received(path).at(-1);
      expect(request && [secret, old].map((each) => libraryAccepts(each, request))).toEqual([
        true,
        true,
      ]);
    });
  },

  'a rotated write key stays valid during the overlap, and the page shows code with the new key':
    async ({ stage, tab, shop, isGood }) => {
      const { page } = tab;
      await page.goto(`${stage.system.controlUrl}/sources/${shop.id}/settings`);
      await page.getByLabel('Overlap').fill('2h');
      await page.getByRole('button', { name: 'Rotate the key' }).click();
      await confirm(tab, 'Rotate the write key?', 'Rotate the key');
      await page.getByText('is still valid until').waitFor();
      const { body: source } = await stage.system.control('GET', `/sources/${shop.id}`);
      expect(source.oldWriteKeys).toMatchObject([{ key: shop.writeKey }]);
      await page.getByText(String(source.writeKey)).first().waitFor();
      await isGood();
      await page.getByRole('link', { name: 'Code', exact: true }).click();
      expect(
        await page
          .getByRole('group', { name: /^code for/ })
          .first()
          .textContent(),
      ).toContain(source.writeKey);
      for (const key of [shop.writeKey, source.writeKey as string]) {
        expect((await stage.system.send(key, 'track', aTrack())).status).toBe(200);
      }
      await isGood();
    },

  'an administrator deletes users and filters the audit trail by action and actor': async ({
    stage,
    tab,
    path,
    isGood,
  }) => {
    const { page } = tab;
    await page.goto(`${stage.system.controlUrl}/deletions`);
    await page.getByRole('button', { name: 'Delete users' }).click();
    await page.getByLabel('User ids').fill('user-forgotten\n\nuser-gone\nuser-gone');
    await page.getByRole('button', { name: 'Delete 2' }).click();
    await confirm(tab, 'Delete these users?', 'Delete 2');
    await page.getByRole('status').getByText('delete messages were sent.').waitFor();
    await page.getByRole('row', { name: /user-forgotten, user-gone/ }).waitFor();
    await isGood();
    const messages = () =>
      stage.sink.received(path).filter(({ body }) => body.toString().includes('"type":"delete"'));
    await eventually(() => expect(messages()).toHaveLength(2));

    // The trail comes from Kafka, and the page shows the state at the time it was opened.
    await eventually(async () => {
      const { body: trail } = await stage.system.control('GET', '/audit');
      const told = (trail.data as { action: string; name: string; kind: string }[]).map(
        ({ action, kind, name }) => `${action} ${kind} ${kind === 'token' ? name : ''}`,
      );
      expect(told).toEqual(expect.arrayContaining(['deleted token Robot', 'created deletion ']));
    });
    await page.goto(`${stage.system.controlUrl}/audit`);
    const rows = page.getByRole('region', { name: 'Changes' }).getByRole('row');
    await rows.filter({ hasText: 'Robot' }).first().waitFor();
    const sessions = rows.filter({ hasText: /\bsession\b/ });
    expect(await sessions.count()).toBe(0);
    await page.getByLabel('Kind').selectOption('all, with sessions');
    await sessions.first().waitFor();
    await page.getByLabel('Kind').selectOption('deletion');
    await rows.filter({ hasText: 'Robot' }).first().waitFor({ state: 'detached' });
    await rows.filter({ hasText: 'created deletion' }).waitFor();
    await page.waitForURL(/kind=deletion/);
    await page.getByLabel('Kind').selectOption('token');
    await page.getByLabel('Who').selectOption('admin');
    const changed = rows.filter({ hasText: /changed token.*Robot/ });
    await changed.getByText('Role: read-only → operator').waitFor();
    await isGood();
    // The address holds all filters.
    await page.reload();
    await changed.waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByLabel('Time', { exact: true }).selectOption('Last hour');
    await page.waitForURL(/since=1h/);
    await page.getByLabel('Kind').selectOption('destination');
    await rows
      .filter({ hasText: /created\s*destination[^]*\d+ fields/ })
      .first()
      .waitFor();
    await page.getByLabel('Time', { exact: true }).selectOption('Between …');
    const zone = String(await tab.evaluate('Intl.DateTimeFormat().resolvedOptions().timeZone'));
    await page.getByText(zone, { exact: true }).waitFor();
    await page.getByLabel('From').fill('2020-01-01T00:00');
    await page.getByLabel('Before').fill('2020-01-02T00:00');
    await page.getByText('Nothing matches').waitFor();
    await isGood();
    await page.getByRole('button', { name: 'Clear' }).click();
    await rows.filter({ hasText: 'created deletion' }).waitFor();
  },
};

async function confirm({ page }: Tab, question: string, label: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: question });
  await dialog.getByRole('button', { name: label, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

async function asked(
  { system }: StorySystem,
  path: string,
  token: string,
): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(`${system.controlUrl}/api/v1${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return { status: answer.status, body: await answer.json() };
}
