import { SealingKeys } from '@certwright/sealing';
import type { Drain } from '@certwright/service';
import { NotifierDatabase } from '../testing/notifier-database';
import { Sink } from '../testing/sinks';
import { deliveryBounds } from './bounds';
import { DeliverWebhook, leaseMs } from './deliver-webhook';
import { PostClient } from './post.client';

let notifier: NotifierDatabase;
beforeAll(async () => {
  notifier = await NotifierDatabase.open();
});
afterAll(async () => await notifier.close());

it.each([410, 500])('does not charge a new address with a %d of the previous one', async (status) => {
  const account = await notifier.account();
  let respond: () => void = () => undefined;
  const arrived = Promise.withResolvers<void>();
  const old = await Sink.answering((_, response) => {
    respond = () => void response.writeHead(status).end();
    arrived.resolve();
  });
  const endpoint = await notifier.endpoint(account, old.url);
  const id = await notifier.deliver(account, endpoint.id, await notifier.plan(account));
  const other = await notifier.deliver(account, endpoint.id, await notifier.plan(account));
  const client = new PostClient({ ALLOWED_NETWORKS: ['127.0.0.0/8'], DNS_RESOLVERS: [] });
  const events = { tried: () => undefined, leaseLost: () => undefined, unexpectedError: () => undefined };
  const deliver = new DeliverWebhook(
    notifier.leasedDeliveries,
    client,
    events,
    { signal: new AbortController().signal } as Drain,
    { SEALING_KEYS: notifier.sealing as SealingKeys },
  );
  const { leased } = await notifier.leasedDeliveries.lease(
    [{ endpointId: endpoint.id, max: 1 }],
    leaseMs,
    deliveryBounds,
  );
  const running = Promise.all(leased.map(async (each) => await deliver.run(each)));
  await arrived.promise;
  // The customer corrects the address while the old one is still being tried.
  await notifier.transactions.run(
    async (tx) =>
      await notifier.endpoints.update(tx, account, endpoint.id, {
        url: 'https://new.example.com/hook',
        enabled: true,
      }),
  );
  respond();
  await running;
  await old.close();
  expect(await notifier.endpoints.get(account, endpoint.id)).toMatchObject({
    url: 'https://new.example.com/hook',
    enabled: true,
    disabledReason: null,
    failingSince: null,
  });
  const states = [id, other].map(async (each) => (await notifier.log.get(account, endpoint.id, each))?.state);
  expect(await Promise.all(states)).toEqual(['pending', 'pending']);
  expect(await notifier.database.query(`SELECT kind FROM mail`)).toEqual([]);
});
