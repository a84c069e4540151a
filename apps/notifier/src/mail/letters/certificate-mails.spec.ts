import { MailFixture } from '../../testing/mail-fixture';

let fixture: MailFixture;
beforeAll(async () => {
  fixture = await MailFixture.open('Tools & Co');
});
afterAll(async () => await fixture.close());

const mailed = async (kind: 'certificate-issued' | 'revocation-complete', certificateId: string) =>
  await fixture.mail({ kind, recipient: 'ops@example.com', facts: { certificateId } });
const revoked = async (certificateId: string, at = 'now()') =>
  await fixture.query(`UPDATE certificate SET revoked_at = ${at}, ca_revoked_at = now() WHERE id = $1`, [
    certificateId,
  ]);

describe('the mail that a certificate is ready', () => {
  it('names the certificate, its end and its names, and how to turn such mails off', async () => {
    const dnsNames = ['a.example.com', 'www.a.example.com'];
    const planId = await fixture.object({ cn: 'a.example.com', dnsNames });
    const certificateId = await fixture.certificate(planId, dnsNames);
    const received = await mailed('certificate-issued', certificateId);
    expect(received?.mail.subject).toBe('The certificate for a.example.com is ready');
    const [{ until } = { until: '' }] = await fixture.query<{ until: string }>(
      `SELECT to_char(not_after AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') AS until FROM certificate WHERE id = $1`,
      [certificateId],
    );
    for (const said of [
      'in the account Tools & Co was issued',
      `valid until ${until} UTC`,
      '  - www.a.example.com',
      'serial number is 0a0b',
      'set "mail_when_issued" of the account to false',
    ])
      expect(received?.text).toContain(said);
  });

  it('is not sent for a certificate that was revoked meanwhile', async () => {
    const planId = await fixture.object({ cn: 'b.example.com' });
    const certificateId = await fixture.certificate(planId, ['b.example.com']);
    await revoked(certificateId);
    expect(await mailed('certificate-issued', certificateId)).toBeNull();
  });
});

describe('the mail that a revocation is complete', () => {
  it('lists certificates revoked together, and how to turn such mails off', async () => {
    const planId = await fixture.object({ cn: 'c.example.com' });
    const ids: string[] = [];
    for (const serial of ['01', '02', '03']) {
      await fixture.query(`UPDATE certificate SET is_current = false WHERE plan_id = $1`, [planId]);
      const id = await fixture.certificate(planId, ['c.example.com']);
      await fixture.query(`UPDATE certificate SET serial_number = $2 WHERE id = $1`, [id, serial]);
      ids.push(id);
    }
    const [first = '', second = '', third = ''] = ids;
    await revoked(first, `'2026-01-01'`);
    await revoked(second, `'2026-01-02'`);
    await revoked(third, `'2026-01-02'`);
    const received = await mailed('revocation-complete', third);
    expect(received?.mail.subject).toBe('The revocation for c.example.com is complete');
    expect(received?.text).toContain('in the account Tools & Co were revoked');
    expect(received?.text).toContain('  - 02\n  - 03\n');
    expect(received?.text).not.toContain('  - 01');
    expect(received?.text).toContain('set "mail_when_revoked" of the account to false');
  });

  it('is not sent to a disabled account', async () => {
    const planId = await fixture.object({ cn: 'd.example.com' });
    const certificateId = await fixture.certificate(planId, ['d.example.com']);
    await revoked(certificateId);
    await fixture.query(`UPDATE account SET disabled_at = now() WHERE id = $1`, [fixture.account]);
    try {
      expect(await mailed('revocation-complete', certificateId)).toBeNull();
    } finally {
      await fixture.query(`UPDATE account SET disabled_at = NULL WHERE id = $1`, [fixture.account]);
    }
  });
});
