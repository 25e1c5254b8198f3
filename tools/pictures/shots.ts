import { join } from 'node:path';
import { type Locator, type Page } from 'playwright-core';
import { ROOT } from '../../shared/runtime/repo-root';
import { openSection, openTab } from '../../test/support/browser';
import { CHROMIUM, openBrowser } from '../../test/support/chromium';
import { eventually } from '../../test/support/eventually';
import { type Destination } from '../harness/api';
import { type System } from '../harness/system';

/** Opens the console of the world, and takes the pictures that `docs/guide/console.md` shows. */

const FOLDER = join(ROOT, 'docs', 'guide', 'console');

interface Known {
  /** of the user who looks */
  token: string;
  /** ids by name */
  sources: ReadonlyMap<string, string>;
  destinations: ReadonlyMap<string, Destination>;
}

export async function takePictures(system: System, known: Known): Promise<void> {
  const browser = await openBrowser(CHROMIUM);
  const tab = await openTab(browser, {
    viewport: { width: 1280, height: 800 },
    colorScheme: 'light',
    timezoneId: 'UTC',
  });
  const { page } = tab;
  const open = (path: string) => page.goto(`${system.controlUrl}${path}`);
  const idOf = (name: string) => known.destinations.get(name)?.id ?? '';
  const find = (query: string) =>
    eventually(async () => {
      const answer = await system.control('GET', `/deliveries?${query}`);
      const [found] = (answer.body as { data: { id: string }[] }).data;
      if (!found) throw new Error(`no delivery: ${query}`);
      return found.id;
    });
  try {
    await open('/');
    await page.getByLabel(/^Token/).fill(known.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();

    await open('/');
    await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
    await shoot(page, 'overview', { height: 1_080 });
    await page.emulateMedia({ colorScheme: 'dark' });
    await shoot(page, 'overview-dark', { height: 1_080 });
    await page.emulateMedia({ colorScheme: 'light' });

    await open(`/destinations/${idOf('Acme Billing')}`);
    await page.getByRole('heading', { name: /^Last / }).waitFor();
    await shoot(page, 'destination', { height: 1_080 });

    const lost = `destination=${idOf('Borealis CRM')}&status=dead`;
    await open(`/deliveries?${lost}&panel=${await find(lost)}`);
    await page.getByRole('complementary', { name: 'Delivery' }).getByText('Timeline').waitFor();
    await shoot(page, 'deliveries');

    await open('/deliveries');
    await page
      .getByRole('link', { name: /^track/ })
      .first()
      .waitFor();
    await shoot(page, 'deliveries-phone', { width: 390, height: 844 });

    // Its endpoint was away for a moment, and accepted the second attempt.
    const retried = `destination=${idOf('Delta Logistics')}&status=delivered&limit=200`;
    const again = await eventually(
      async () => {
        const answer = await system.control('GET', `/deliveries?${retried}`);
        const rows = answer.body as {
          data: { id: string; attemptsMade: number; acceptedAt: string }[];
        };
        const found = rows.data.find(
          ({ attemptsMade, acceptedAt }) =>
            attemptsMade > 1 && Date.now() - Date.parse(acceptedAt) < LIVE_MS,
        );
        if (!found) throw new Error('no delivery was sent twice');
        return found.id;
      },
      { deadlineMs: 120_000, everyMs: 1_000 },
    );
    await open(`/deliveries/${again}`);
    await page.getByRole('region', { name: 'Differences' }).waitFor();
    await shoot(page, 'delivery', { height: 1_000 });

    await open('/debugger');
    await page.getByText('live', { exact: true }).waitFor();
    await page
      .getByText(/^track: /)
      .first()
      .waitFor();
    await shoot(page, 'debugger');

    await open(`/sources/${known.sources.get('Web shop') ?? ''}`);
    await page.getByRole('button', { name: 'Block Product Viewed', exact: true }).waitFor();
    const events = page.getByRole('heading', { name: 'Track events', exact: true });
    await shoot(page, 'source-events', { from: events });

    await open('/notices');
    await page.getByRole('row', { name: /certificate expiring/ }).waitFor();
    await shoot(page, 'notices');

    await showAudience(page, open, system);

    await open('/audit');
    await page.getByRole('region', { name: 'Changes', exact: true }).waitFor();
    await shoot(page, 'audit');

    await showConnect(page, open, known);
    await showBuilder(page, open);
    await showPreview(page, open, known);
    await showConflict(page, open, system, idOf('Kestrel Labs'));
  } finally {
    await browser.close();
  }
}

/** Older deliveries have no body in Kafka. */
const LIVE_MS = 10 * 60_000;

/** More than any page is high, px. */
const FAR = 10_000;

type Open = (path: string) => Promise<unknown>;

async function showConnect(page: Page, open: Open, { sources }: Known): Promise<void> {
  await open(`/connect/new?sources=${sources.get('Web shop') ?? ''}`);
  await page.getByRole('radio', { name: /^Webhook/ }).waitFor();
  await page.getByLabel('Address').fill('https://hooks.lumen.example/waypost');
  await page.getByLabel(/^Name/).fill('Lumen Studio');
  // The fields have scrolled into view.
  await page.mouse.wheel(0, -FAR);
  await shoot(page, 'connect', { height: 1_240 });
}

/** The one audience of the world, once all profiles are checked. */
async function showAudience(page: Page, open: Open, system: System): Promise<void> {
  const answer = await system.control('GET', '/audiences');
  const [audience] = (answer.body as { data: { id: string }[] }).data;
  await open(`/audiences/${audience?.id ?? ''}`);
  await page.getByText('live', { exact: true }).waitFor({ timeout: 120_000 });
  await page.getByRole('heading', { name: 'Syncs', exact: true }).waitFor();
  await shoot(page, 'audience');
}

async function showBuilder(page: Page, open: Open): Promise<void> {
  await open('/audiences/new');
  await page.getByLabel(/^Name/).fill('Loyal buyers');
  await page.getByLabel('Trait', { exact: true }).fill('plan');
  await page.getByLabel('Value', { exact: true }).fill('pro');
  await page.getByRole('button', { name: 'Add a condition' }).click();
  const second = page.getByRole('group', { name: 'Condition 2' });
  await second.getByLabel('What').selectOption('count');
  await second.getByLabel('Event').fill('Order Completed');
  await second.getByLabel('Times').fill('2');
  await second.getByLabel('Within the last').fill('30');
  const preview = page.getByRole('region', { name: 'Preview', exact: true });
  await preview.getByText(/^\d+ users?$/).waitFor({ timeout: 120_000 });
  await shoot(page, 'audience-builder', { height: 1_000 });
}

async function showPreview(page: Page, open: Open, { sources }: Known): Promise<void> {
  await open(`/connect/new?sources=${sources.get('Web shop') ?? ''}`);
  await page.getByRole('radio', { name: /^Slack/ }).check();
  await page.getByLabel('Address').fill('https://hooks.slack.com/services/T024/B08/x7');
  await openSection(page, 'Request');
  await page.getByLabel('Body', { exact: true }).selectOption('slack');
  await page.getByRole('button', { name: 'Preview with an event' }).click();
  const body = page.getByRole('group', { name: 'previewed body' });
  await body.getByText('"blocks"').waitFor();
  const from = page.getByLabel('Body', { exact: true });
  await shoot(page, 'request-preview', { height: 1_000, from });
}

async function showConflict(page: Page, open: Open, system: System, id: string): Promise<void> {
  await open(`/destinations/${id}/settings`);
  await page.getByLabel(/^Name/).fill('Kestrel Labs (EU)');
  await system.control('PATCH', `/destinations/${id}`, { maxPerSecond: 25 });
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const both = page.getByRole('button', { name: 'Keep both changes' });
  await both.waitFor();
  // The last of the page: all above it is shown.
  await shoot(page, 'destination-conflict', { from: both });
}

interface View {
  /** of the window, px; default: 1,280 × 800 */
  width?: number;
  height?: number;
  /** what the picture begins with; default: what the page shows now */
  from?: Locator;
}

/** What is at the top of the window is below its bar, with its label, px. */
const BAR_PX = 110;

/**
 * Takes a picture of the window. Charts and pictures of a page that has just loaded need a moment.
 */
async function shoot(page: Page, name: string, view: View = {}): Promise<void> {
  const { width = 1_280, height = 800, from } = view;
  await page.setViewportSize({ width, height });
  await eventually(
    async () => {
      if ((await page.locator('.skeletons').count()) > 0) throw new Error(`${name} is loading`);
    },
    { deadlineMs: 120_000 },
  );
  await page.getByText(/^\d+ notices$/).waitFor();
  await page.mouse.move(0, 0);
  if (from) {
    const top = (await from.boundingBox())?.y ?? 0;
    await page.mouse.wheel(0, top - BAR_PX);
  }
  await page.waitForTimeout(SETTLES_MS);
  await page.screenshot({ path: join(FOLDER, `${name}.png`), animations: 'disabled' });
  process.stdout.write(`${name}.png\n`);
}

const SETTLES_MS = 1_500;
