import { AccountEvents } from '@certwright/delivery';
import { FindingsFixture, issuanceFor } from '../testing/findings-fixture';

let fixture: FindingsFixture;
beforeAll(async () => {
  fixture = await FindingsFixture.open();
});
afterAll(async () => await fixture.close());
afterEach(() => jest.restoreAllMocks());

it('sends alerts of an account while new endpoints of it are recorded, without a deadlock', async () => {
  const account = await fixture.account();
  await fixture.core.query(
    `UPDATE webhook_endpoint SET events = '{monitoring.*, monitoring.new_endpoint}' WHERE account_id = $1`,
    [account],
  );
  await fixture.find({ [account]: ['.example.com'] }, [issuanceFor(['a.example.com'])]);
  const lease = await fixture.lease('alerts');
  const [recording, alerting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const runs: string[] = [];
  const enqueue = AccountEvents.prototype.enqueue;
  jest.spyOn(AccountEvents.prototype, 'enqueue').mockImplementation(async function (
    this: AccountEvents,
    tx,
    events,
  ) {
    const [event = ''] = events.map((each) => each.event);
    if (event === 'monitoring.new_endpoint') {
      runs.push(event);
      recording.resolve();
      // Until the other transaction has what it takes first, or waits.
      await Promise.race([alerting.promise, new Promise((done) => setTimeout(done, 500))]);
    }
    const count = await enqueue.call(this, tx, events);
    if (event === 'monitoring.unknown_certificate') {
      runs.push(event);
      alerting.resolve();
    }
    return count;
  });
  const found = fixture.find({ [account]: ['.example.com'] }, [issuanceFor(['b.example.com'])]);
  await recording.promise;
  await Promise.all([found, fixture.alerts.send(lease)]);
  // A transaction that was the victim of a deadlock runs again.
  expect(runs.sort()).toEqual(['monitoring.new_endpoint', 'monitoring.unknown_certificate']);
});
