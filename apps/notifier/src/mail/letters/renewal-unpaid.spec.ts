import { MailFixture } from '../../testing/mail-fixture';

let fixture: MailFixture;
beforeAll(async () => {
  fixture = await MailFixture.open('Tools & Co');
});
afterAll(async () => await fixture.close());

const enqueued = async (planId: string) =>
  await fixture.notifier.mail({
    accountId: fixture.account,
    kind: 'renewal-unpaid',
    recipient: 'ops@example.com',
    facts: { planId },
  });

async function expiring(cn: string): Promise<string> {
  const planId = await fixture.object({ cn });
  await fixture.certificate(planId, [cn]);
  return planId;
}

it('contains which certificate could not be paid, how long the present one is valid, and what to do', async () => {
  const planId = await expiring('a.example.com');
  const received = await fixture.sent(await enqueued(planId));
  expect(received?.mail.subject).toBe('The renewal of a.example.com could not be paid');
  const [{ until } = { until: '' }] = await fixture.query<{ until: string }>(
    `SELECT to_char(not_after AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') AS until FROM certificate WHERE plan_id = $1`,
    [planId],
  );
  for (const said of [
    'renew the certificate a.example.com of the account Tools & Co',
    `valid until ${until} UTC`,
    'add to the balance',
    'set "auto_renew" of the certificate to false',
  ])
    expect(received?.text).toContain(said);
});

it('refers to the order when there is one', async () => {
  const planId = await expiring('b.example.com');
  await fixture.query(`DELETE FROM cert_object_v2 WHERE plan_id = $1`, [planId]);
  await fixture.query(`UPDATE plan SET owner = 'orders-v3' WHERE id = $1`, [planId]);
  await fixture.query(
    `INSERT INTO order_v3 (plan_id, account_id, name, dns_names, approver_emails, product, key_type)
     VALUES ($1, $2, 'shop', '{b.example.com}', '{}', 'paid_ca', 'ecdsa')`,
    [planId, fixture.account],
  );
  const received = await fixture.sent(await enqueued(planId));
  expect(received?.text).toContain('renew the order shop of the account');
});

it('is right also where the account is kept in another currency than the price', async () => {
  const received = await fixture.sent(await enqueued(await expiring('d.example.com')));
  expect(received?.text).toContain('but the account could not pay for it. So it was not renewed.');
  expect(received?.text).toContain('If the balance covers the price, ask the operator.');
});

it('mentions when the certificate has expired meanwhile', async () => {
  const planId = await expiring('c.example.com');
  await fixture.query(`UPDATE certificate SET revoked_at = now() WHERE plan_id = $1`, [planId]);
  const received = await fixture.sent(await enqueued(planId));
  expect(received?.text).toContain('It has no valid certificate any more.');
});

it.each([
  ['the plan is closed', `UPDATE plan SET closed_at = now() WHERE id = $1`],
  ['automatic renewal is switched off', `UPDATE plan SET auto_renew = false WHERE id = $1`],
  ['it is paused', `UPDATE plan SET paused = true WHERE id = $1`],
  [
    'it was renewed since',
    `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, opened_at, closed_at)
     SELECT id, account_id, terms_id, 2, 'issued', '[]', now(), now() + interval '1 second', now() FROM plan WHERE id = $1`,
  ],
  [
    'the renewal is under way',
    `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, opened_at)
     SELECT id, account_id, terms_id, 2, 'open', '[]', now(), now() - interval '1 day' FROM plan WHERE id = $1`,
  ],
])('is not sent when %s', async (what, change) => {
  const planId = await expiring(`${what.replaceAll(' ', '-')}.example.com`);
  const mailId = await enqueued(planId);
  await fixture.query(change, [planId]);
  expect(await fixture.sent(mailId)).toBeNull();
});
