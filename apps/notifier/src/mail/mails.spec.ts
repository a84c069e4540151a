import { CoreDatabaseFixture } from '@certwright/core-testing';
import { LeasedMails } from './leased-mails';
import { Mails } from '@certwright/delivery';

let core: CoreDatabaseFixture;
let mails: Mails;
let leased: LeasedMails;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  mails = new Mails(core.database);
  leased = new LeasedMails(core.database);
  await core.account('4711');
});
afterAll(async () => await core.close());
beforeEach(async () => await core.database.query('TRUNCATE mail, outbox'));

const enqueue = async (accountId = '4711') =>
  await core.transactions.run(
    async (tx) =>
      await mails.enqueue(tx, {
        accountId,
        kind: 'expiration-notice',
        recipient: 'ops@example.com',
        facts: { certificateId: '7', thresholdDays: 3 },
      }),
  );

const lease = async (id: string) => {
  const mail = await leased.lease(id, 30_000);
  if (mail === null) throw new Error('not leased');
  return mail;
};

describe('mails', () => {
  it('are stored with their wake-up, in the transaction of the change that causes them', async () => {
    const undone = core.transactions.run(async (tx) => {
      await mails.enqueue(tx, {
        accountId: '4711',
        kind: 'webhook-disabled',
        recipient: 'ops@example.com',
        facts: { endpointId: '1' },
      });
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    const id = await enqueue();
    expect(await core.database.query(`SELECT job, job_id, payload FROM outbox`)).toEqual([
      { job: 'send-mail', job_id: `send-mail-${id}-0`, payload: { mailId: id } },
    ]);
    expect(await leased.due(10)).toMatchObject([{ id, leaseToken: '0' }]);
  });

  it('are leased by one process only, and an expired lease writes nothing', async () => {
    const id = await enqueue();
    const first = await lease(id);
    expect(first).toMatchObject({ facts: { certificateId: '7', thresholdDays: 3 }, attempts: 0 });
    expect(await leased.lease(id, 30_000)).toBeNull();
    expect(await leased.due(10)).toEqual([]);
    await core.database.query(`UPDATE mail SET leased_until = now()`);
    const second = await lease(id);
    expect(await leased.finish(first.lease, { state: 'failed' })).toBe(false);
    expect(await leased.finish(second.lease, { state: 'sent' })).toBe(true);
    expect(await leased.lease(id, 30_000)).toBeNull();
  });

  it('are leased again when they are due again', async () => {
    const id = await enqueue();
    const { lease: held, now } = await lease(id);
    await leased.finish(held, { state: 'pending', dueAt: new Date(now.getTime() + 60_000) });
    expect(await leased.due(10)).toEqual([]);
    await core.database.query(`UPDATE mail SET due_at = now()`);
    expect(await leased.due(10)).toMatchObject([{ id, leaseToken: '1' }]);
    expect((await lease(id)).attempts).toBe(1);
  });

  it('are found in turns of the accounts, so that many of one do not delay those of others', async () => {
    await core.account('4712');
    const many = [await enqueue(), await enqueue(), await enqueue()];
    const other = await enqueue('4712');
    expect((await leased.due(3)).map(({ id, turn }) => [id, turn])).toEqual([
      [many[0], 1],
      [other, 1],
      [many[1], 2],
    ]);
  });

  it('go to the contact address of the account, else to its first user who is not disabled', async () => {
    expect(await mails.addressOf('4711')).toBeNull();
    await core.database.query(
      `INSERT INTO account_user (account_id, email, password_hash, disabled_at)
       VALUES (4711, 'gone@example.com', 'x', now()), (4711, 'user@example.com', 'x', NULL)`,
    );
    expect(await mails.addressOf('4711')).toBe('user@example.com');
    await core.database.query(`UPDATE account SET contact_email = 'ops@example.com'`);
    expect(await mails.addressOf('4711')).toBe('ops@example.com');
  });

  it('are deleted 30 days after they ended', async () => {
    const old = await lease(await enqueue());
    await leased.finish(old.lease, { state: 'sent' });
    await enqueue();
    await core.database.query(
      `UPDATE mail SET finished_at = now() - interval '31 days' WHERE state = 'sent'`,
    );
    expect(await mails.forgetOld(10)).toBe(1);
    expect(await mails.forgetOld(10)).toBe(0);
  });
});
