import { MailFixture } from '../../testing/mail-fixture';

let fixture: MailFixture;
beforeAll(async () => {
  fixture = await MailFixture.open('Tools & Co');
});
afterAll(async () => await fixture.close());
beforeEach(async () => await fixture.query('TRUNCATE mail, cert_object_v2'));

const wayOf = (dnsName: string, address: string) => ({
  dnsName,
  status: 'pending',
  way: { method: 'email', approverEmail: address, recordAt: null },
});

/** Sends an approval request, like the worker. @returns the mail's id */
async function requested(planId: string, dnsName: string, address: string): Promise<string> {
  await fixture.notifier.approvals.request(
    { accountId: fixture.account, planId, dnsName, address },
    new Date(0),
  );
  const [mail] = await fixture.query<{ id: string }>(`SELECT id FROM mail ORDER BY id DESC LIMIT 1`);
  return mail?.id ?? '';
}

describe('a request for approval of a name of a certificate object', () => {
  it('contains the names of the certificate, and no order', async () => {
    const dnsNames = ['www.example.com', 'example.com'];
    const planId = await fixture.object({ dnsNames });
    const received = await fixture.sent(await requested(planId, 'www.example.com', 'admin@example.com'));
    expect(received?.mail.subject).toBe('Please approve a certificate for www.example.com');
    expect(received?.text).toContain('requests a TLS certificate for www.example.com. It is issued only');
    expect(received?.text).toContain('  - example.com\n');
    expect(received?.text).not.toContain('order');
  });

  it('contains the name to approve when it is not the common name', async () => {
    const approverEmails = { 'example.com': 'admin@example.com' };
    const planId = await fixture.object({ dnsNames: ['www.example.com', 'example.com'], approverEmails });
    const received = await fixture.sent(await requested(planId, 'example.com', 'admin@example.com'));
    expect(received?.text).toContain('for example.com (in the certificate for www.example.com).');
  });

  it('goes to the approver of the instance that is pending, even after the approver of the object changes', async () => {
    const planId = await fixture.object();
    await fixture.issuance(planId, 'open', [wayOf('www.example.com', 'admin@example.com')]);
    const mailId = await requested(planId, 'www.example.com', 'admin@example.com');
    const terms = await fixture.terms(planId, ['www.example.com'], {
      'www.example.com': 'webmaster@example.com',
    });
    await fixture.query(`UPDATE plan SET terms_id = $2 WHERE id = $1`, [planId, terms]);
    expect(await fixture.sent(mailId)).not.toBeNull();
  });

  it('goes to the new approver after the approval was restarted', async () => {
    const planId = await fixture.object();
    await fixture.issuance(planId, 'open', [wayOf('www.example.com', 'admin@example.com')]);
    const earlier = await requested(planId, 'www.example.com', 'admin@example.com');
    const terms = await fixture.terms(planId, ['www.example.com'], {
      'www.example.com': 'webmaster@example.com',
    });
    await fixture.query(`UPDATE plan SET terms_id = $2 WHERE id = $1`, [planId, terms]);
    await fixture.query(`UPDATE issuance SET approvals = $2 WHERE plan_id = $1`, [
      planId,
      JSON.stringify([wayOf('www.example.com', 'webmaster@example.com')]),
    ]);
    const newest = await requested(planId, 'www.example.com', 'webmaster@example.com');
    expect((await fixture.sent(newest))?.mail.to).toMatchObject({ text: 'webmaster@example.com' });
    expect(await fixture.sent(earlier)).toBeNull();
  });

  it('contains the names of the pending instance, not the present ones of the object', async () => {
    const dnsNames = ['www.example.com', 'old.example.com'];
    const planId = await fixture.object({ dnsNames });
    await fixture.issuance(planId, 'open', [wayOf('www.example.com', 'admin@example.com')]);
    const terms = await fixture.terms(planId, ['www.example.com', 'new.example.com'], {});
    await fixture.query(`UPDATE plan SET terms_id = $2 WHERE id = $1`, [planId, terms]);
    const received = await fixture.sent(await requested(planId, 'www.example.com', 'admin@example.com'));
    expect(received?.text).toContain('old.example.com');
    expect(received?.text).not.toContain('new.example.com');
  });
});

describe('an expiration notice of a certificate object', () => {
  const notice = async (planId: string) => {
    const certificateId = await fixture.certificate(planId, ['www.example.com']);
    return await fixture.mail({
      kind: 'expiration-notice',
      recipient: 'ops@example.com',
      facts: { certificateId, thresholdDays: 7 },
    });
  };

  it('describes the certificate and how to buy it again', async () => {
    const planId = await fixture.object();
    await fixture.query(`UPDATE plan SET auto_renew = false WHERE id = $1`, [planId]);
    const received = await notice(planId);
    expect(received?.mail.subject).toBe('The certificate of www.example.com expires in 7 days');
    expect(received?.text).toContain('The current certificate for www.example.com in the account Tools & Co');
    expect(received?.text).toContain('Automatic renewal is off. To renew it, buy the certificate again');
    expect(received?.text).toContain('notices for this certificate, set its "muted" to true');
    expect(received?.text).not.toContain('order');
  });

  it('does not suggest a purchase when a longer term is paid', async () => {
    const planId = await fixture.object();
    await fixture.query(`UPDATE plan SET auto_renew = false, replacement_paid = true WHERE id = $1`, [
      planId,
    ]);
    const received = await notice(planId);
    expect(received?.text).toContain('What was paid for lasts longer');
    expect(received?.text).not.toContain('buy');
  });
});
