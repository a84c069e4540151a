import { randomBytes } from 'node:crypto';
import { WebhookEndpoints } from '@certwright/delivery';
import { SealingKeys } from '@certwright/sealing';
import type { DataSource } from 'typeorm';
import { createAccount } from './accounts';
import { createWebhook, sendTest, webhookCommands } from './webhooks';
import { adminFixture } from './testing/admin-fixture';

const key = randomBytes(32);
const sealing = new SealingKeys([key]);

const admin = adminFixture();
let database: DataSource;
let accountId: string;

beforeAll(() => {
  process.env['SEALING_KEYS'] = key.toString('base64');
  database = admin.database;
});
afterAll(() => {
  delete process.env['SEALING_KEYS'];
});
beforeEach(async () => {
  accountId = await createAccount(database, 'Spec', null);
});

/** Runs `npm run admin -- webhook …`. @returns the output */
const run = async (...args: string[]) => (await admin.run([webhookCommands], 'webhook', ...args)).join('\n');

it('creates a webhook, shows its secret once, and lists it without its credentials', async () => {
  const line = await run('create', 'https://me:pass%20word@h.example/x', '--account', accountId);
  const [id = '', secret = ''] = line.split('\t');
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);

  const [endpoint] = await new WebhookEndpoints(database).ofAccount(accountId);
  expect(endpoint).toMatchObject({ id, url: 'https://h.example/x', enabled: true });
  const opened = (sealed: Buffer | null | undefined, what: string) =>
    sealing.open(sealed ?? Buffer.alloc(0), `webhook-endpoint:${id}:${what}`);
  expect(opened(endpoint?.secretSealed, 'secret')).toBe(secret);
  expect(opened(endpoint?.credentialsSealed, 'credentials')).toBe('me:pass word');

  const list = await run('list', '--account', accountId);
  expect(list).toBe(
    `${id}\tenabled\thttps://h.example/x (with credentials)\t-\torder.current_cert_changed,certificate.issued`,
  );
});

it('disables, enables, rotates and deletes', async () => {
  const { id, secret } = await create();
  expect(await run('disable', id)).toBe(`webhook ${id}: disabled`);
  expect(await run('list', '--account', accountId)).toContain('\tdisabled\t');
  await expect(run('test', id)).rejects.toThrow('is disabled: enable it first');
  expect(await run('enable', id)).toBe(`webhook ${id}: enabled`);

  const [rotated = ''] = (await run('rotate', id)).split('\t');
  expect(rotated).not.toBe(secret);
  const [endpoint] = await new WebhookEndpoints(database).ofAccount(accountId);
  const previous = endpoint?.previousSecretSealed ?? Buffer.alloc(0);
  expect(sealing.open(previous, `webhook-endpoint:${id}:secret`)).toBe(secret);

  expect(await run('delete', id)).toBe(`webhook ${id}: deleted`);
  await expect(run('delete', id)).rejects.toThrow(`There is no webhook ${id}.`);
});

it('refuses a rotation while eight secrets of before still sign', async () => {
  const { id } = await create();
  for (let count = 0; count < 8; count += 1) await run('rotate', id);
  await expect(run('rotate', id)).rejects.toThrow(
    /^Webhook \d+ has 8 previous secrets that still sign\. Rotate again after 20\S+Z, when the oldest of them ends\.$/,
  );
});

it('sets the events of a webhook, and refuses unknown ones', async () => {
  const line = await run('create', 'https://h.example/', '--account', accountId, '--events', 'monitoring.*');
  const [id = ''] = line.split('\t');
  expect(await run('list', '--account', accountId)).toContain(
    `${id}\tenabled\thttps://h.example/\t-\tmonitoring.*`,
  );
  expect(await run('events', id, 'certificate.issued, monitoring.behind')).toBe(
    `webhook ${id}: certificate.issued,monitoring.behind`,
  );
  await expect(run('events', id, 'monitoring')).rejects.toThrow('events: Entry 1 is not an event.');
});

it('sends a test event', async () => {
  const { id } = await create();
  const deliveryId = await sendTest(database, id);
  const [delivery] = await database.query<object[]>(`SELECT * FROM webhook_delivery WHERE id = $1`, [
    deliveryId,
  ]);
  expect(delivery).toMatchObject({ endpoint_id: id, event: 'test', state: 'pending' });
});

it.each(['ftp://h.example/', 'https://h.example/#x', 'nowhere'])('refuses %s', async (url) => {
  await expect(run('create', url, '--account', accountId)).rejects.toThrow('The URL ');
});

const create = async () =>
  await createWebhook(database, sealing, { accountId, url: 'https://h.example/', description: '' });
