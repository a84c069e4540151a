import { CoreDatabaseFixture } from '@certwright/core-testing';
import { WebhookFixture } from '@certwright/core-testing';
import { WebhookFanOut } from './webhook-fan-out';

let core: CoreDatabaseFixture;
let webhooks: WebhookFixture;
let fanOut: WebhookFanOut;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  webhooks = new WebhookFixture(core);
  fanOut = new WebhookFanOut(webhooks.endpoints, webhooks.deliveries);
});
afterAll(async () => await core.close());

const rendered = jest.fn(async (): Promise<string | null> => '{"cn":"example.com"}');
beforeEach(() => rendered.mockClear());

async function tell(accountId: string, planId: string, version = 1): Promise<number> {
  const event = { accountId, planId, version, event: 'certificate.issued' as const };
  return await core.transactions.run(async (tx) => await fanOut.tell(tx, event, rendered));
}

const deliveries = async (accountId: string) =>
  await core.database.query<{ id: string; endpoint_id: string; body: string }[]>(
    `SELECT id, endpoint_id, event, body FROM webhook_delivery WHERE account_id = $1 ORDER BY endpoint_id`,
    [accountId],
  );

it('puts one delivery per enabled endpoint of the account on its way, all with the body rendered once', async () => {
  const planId = await webhooks.plan('1');
  const ids = [await webhooks.endpoint('1'), await webhooks.endpoint('1')];
  await webhooks.endpoint('2');
  await core.database.query(`UPDATE webhook_endpoint SET enabled = true`);
  expect(await tell('1', planId)).toBe(2);
  expect(await tell('1', planId)).toBe(2);
  const notified = await deliveries('1');
  expect(notified.map(({ endpoint_id }) => endpoint_id).sort()).toEqual(ids.sort());
  for (const delivery of notified) {
    expect(delivery).toMatchObject({ event: 'certificate.issued', body: '{"cn":"example.com"}' });
    expect(delivery.id).toMatch(/^msg_[A-Za-z0-9_-]{27}$/);
  }
  expect(await deliveries('2')).toEqual([]);
});

it('renders nothing without endpoints', async () => {
  expect(await tell('3', await webhooks.plan('3'))).toBe(0);
  expect(rendered).not.toHaveBeenCalled();
});

it('sends nothing where there is nothing to tell', async () => {
  await webhooks.endpoint('4');
  rendered.mockResolvedValueOnce(null);
  expect(await tell('4', await webhooks.plan('4'))).toBe(0);
  expect(await deliveries('4')).toEqual([]);
});

it('sends an event only to endpoints that selected it', async () => {
  const wanting = await webhooks.endpoint('5', ['monitoring.*', 'certificate.issued']);
  await webhooks.endpoint('5', ['order.current_cert_changed', 'monitoring.*']);
  expect(await tell('5', await webhooks.plan('5'))).toBe(1);
  expect(await deliveries('5')).toMatchObject([{ endpoint_id: wanting }]);
});

it('sends to every endpoint, and reads it, in a schema without the column events', async () => {
  const planId = await webhooks.plan('6');
  const id = await webhooks.endpoint('6', ['order.current_cert_changed']);
  await core.database.query(`ALTER TABLE webhook_endpoint DROP COLUMN events`);
  expect(await tell('6', planId)).toBe(1);
  expect(await webhooks.endpoints.get('6', id)).toMatchObject({
    events: ['order.current_cert_changed', 'certificate.issued'],
  });
  await webhooks.endpoint('6');
  expect(await tell('6', await webhooks.plan('6'))).toBe(2);
});
