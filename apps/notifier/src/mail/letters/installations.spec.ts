import { randomBytes } from 'node:crypto';
import { MailFixture } from '../../testing/mail-fixture';

let fixture: MailFixture;
beforeAll(async () => {
  fixture = await MailFixture.open('Tools & Co');
});
afterAll(async () => await fixture.close());

interface Order {
  readonly planId: string;
  readonly certificateSha256: string;
}

/** A managed order with a current certificate that is rolled out. */
async function rolledOut(name: string, { isStopped = false } = {}): Promise<Order> {
  const planId = await fixture.notifier.plan(fixture.account);
  const termsId = await fixture.terms(planId, ['www.example.com'], {});
  await fixture.query(`UPDATE plan SET owner = 'orders-v3', terms_id = $2 WHERE id = $1`, [planId, termsId]);
  await fixture.query(`INSERT INTO cluster (account_id, name) VALUES ($1, 'web') ON CONFLICT DO NOTHING`, [
    fixture.account,
  ]);
  await fixture.query(
    `INSERT INTO order_v3 (plan_id, account_id, name, dns_names, approver_emails, cluster, product, key_type)
     VALUES ($1, $2, $3, '{www.example.com}', '{}', 'web', 'free_ca', 'ecdsa')`,
    [planId, fixture.account, name],
  );
  const id = await fixture.certificate(planId, ['www.example.com']);
  const [row] = await fixture.query<{ sha256: string }>(
    `INSERT INTO rollout (plan_id, certificate_sha256, begun_at, stopped_at)
     SELECT plan_id, sha256, '2026-11-20T10:00:00Z', CASE WHEN $2 THEN now() END FROM certificate WHERE id = $1
     RETURNING encode(certificate_sha256, 'hex') AS sha256`,
    [id, isStopped],
  );
  return { planId, certificateSha256: row?.sha256 ?? '' };
}

async function reported(
  planId: string,
  host: string,
  state: string,
  { problem = null, certificate = null }: { problem?: string | null; certificate?: string | null } = {},
): Promise<string> {
  const id = randomBytes(16).toString('base64url');
  await fixture.query(
    `WITH enrolment AS (
       INSERT INTO cluster_enrolment (account_id, cluster, token_sha256, uses, expires_at)
       VALUES ($1, 'web', $3, 1, now()) RETURNING id)
     INSERT INTO agent (id, account_id, cluster, identity_key, sealing_key, enrolment_id, name, version, platform)
     SELECT $2, $1, 'web', $3, $3, enrolment.id, $4, '1', 'linux' FROM enrolment`,
    [fixture.account, id, randomBytes(32), host],
  );
  await fixture.query(
    `INSERT INTO installation (plan_id, agent_id, point, state, certificate_sha256, since, problem)
     VALUES ($1, $2, 'nginx', $3, decode($4, 'hex'), '2026-11-20T11:00:00Z', $5)`,
    [planId, id, state, certificate, problem],
  );
  return id;
}

const mail = async (kind: 'certificate-not-served' | 'rollout-stopped', facts: Order) =>
  await fixture.mail({ kind, recipient: 'ops@example.com', facts });

describe('a certificate that is not served', () => {
  it('is mailed with each host that does not serve it, and why', async () => {
    const order = await rolledOut('shop');
    await reported(order.planId, 'web-1', 'rolled_back', { problem: 'nginx -t: unknown directive' });
    await reported(order.planId, 'web-2', 'serving', { certificate: order.certificateSha256 });
    await reported(order.planId, 'web-3', 'serving', { certificate: 'ab'.repeat(32) });
    const received = await mail('certificate-not-served', order);
    expect(received?.mail.subject).toBe('The current certificate of shop is not served');
    for (const said of [
      'The hosts of the cluster web install the certificates of the order shop of the account Tools & Co.',
      'Since 2026-11-20 10:00 UTC',
      'web-1, nginx: rolled back since 2026-11-20 11:00 UTC. nginx -t: unknown directive',
      'web-3, nginx: not begun since',
      'expand=installations',
    ])
      expect(received?.text.replaceAll(/\s+/g, ' ')).toContain(said);
    expect(received?.text).not.toContain('web-2');
  });

  it('shows texts of hosts as data', async () => {
    const order = await rolledOut('quoted');
    await reported(order.planId, '<b>web</b>', 'failed', {
      problem: 'a\r\nBcc: x@example.com \u202e<script>',
    });
    const received = await mail('certificate-not-served', order);
    expect(received?.html).toContain('&lt;b&gt;web&lt;/b&gt;');
    expect(received?.html).not.toContain('<script>');
    expect(received?.text).not.toMatch(/^Bcc:/m);
    expect(received?.text).not.toContain('\u202e');
  });

  it('counts hosts beyond the first twenty', async () => {
    const order = await rolledOut('large');
    for (let count = 10; count < 33; count += 1) await reported(order.planId, `host-${count}`, 'failed');
    const received = await mail('certificate-not-served', order);
    expect(received?.text).toContain('host-29');
    expect(received?.text).not.toContain('host-30');
    expect(received?.text).toContain('and 3 more');
  });

  it.each<[string, (order: Order) => Promise<unknown>]>([
    [
      'every host serves it by now',
      async ({ planId, certificateSha256 }) =>
        await fixture.query(
          `UPDATE installation SET state = 'serving', certificate_sha256 = decode($2, 'hex') WHERE plan_id = $1`,
          [planId, certificateSha256],
        ),
    ],
    [
      'there is a newer certificate',
      async ({ planId }) =>
        await fixture.query(`UPDATE rollout SET certificate_sha256 = '\\x00' WHERE plan_id = $1`, [planId]),
    ],
    [
      'it was revoked',
      async ({ planId }) =>
        await fixture.query(`UPDATE certificate SET revoked_at = now() WHERE plan_id = $1`, [planId]),
    ],
    [
      'the order was deleted',
      async ({ planId }) => await fixture.query(`DELETE FROM order_v3 WHERE plan_id = $1`, [planId]),
    ],
    [
      'the agent was removed',
      async ({ planId }) =>
        await fixture.query(
          `UPDATE agent SET removed_at = now() FROM installation WHERE agent_id = agent.id AND plan_id = $1`,
          [planId],
        ),
    ],
  ])('is not mailed if %s', async (_when, change) => {
    const order = await rolledOut(`gone-${randomBytes(4).toString('hex')}`);
    await reported(order.planId, 'web-1', 'failed');
    await change(order);
    expect(await mail('certificate-not-served', order)).toBeNull();
  });
});

describe('a roll-out that stopped', () => {
  it('is mailed with the hosts that could not install the certificate', async () => {
    const order = await rolledOut('stopped', { isStopped: true });
    await reported(order.planId, 'web-1', 'rolled_back');
    await reported(order.planId, 'web-2', 'failed');
    await reported(order.planId, 'web-3', 'held');
    const received = await mail('rollout-stopped', order);
    expect(received?.mail.subject).toBe('The roll-out of a certificate of stopped has stopped');
    for (const said of ['web-1, nginx: rolled back', 'web-2, nginx: failed', 'starts it again'])
      expect(received?.text.replaceAll(/\s+/g, ' ')).toContain(said);
    expect(received?.text).not.toContain('web-3');
  });

  it('is not mailed if it continues by now', async () => {
    const order = await rolledOut('continued');
    await reported(order.planId, 'web-1', 'failed');
    expect(await mail('rollout-stopped', order)).toBeNull();
  });
});
