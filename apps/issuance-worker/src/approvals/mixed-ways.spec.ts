import { X509Certificate } from 'node:crypto';
import { CertificateAuthorities } from '../certificate-authorities/certificate-authorities';
import { HttpChallenges } from '@certwright/approvals';
import { AuthoritiesInOrder } from '../certificate-authorities/authorities-in-order';
import { Approving, byDns, byEmail, byHttp, type IssuanceFound } from '../testing/approving';
import type { OpenedIssuance } from '../testing/opened-issuance';

const accountId = '5000001';
const address = 'admin@example.com';

let approving: Approving;
beforeAll(async () => {
  approving = await Approving.open(accountId, ['example.com', 'example.net', 'example.org']);
}, 30_000);
afterAll(async () => await approving.close());

async function certificateOf({ planId }: OpenedIssuance): Promise<X509Certificate | null> {
  const [row] = await approving.database.query<[{ leaf: Buffer }?]>(
    `SELECT leaf FROM certificate WHERE plan_id = $1`,
    [planId],
  );
  return row === undefined ? null : new X509Certificate(row.leaf);
}

const problemOf = ({ approvals }: IssuanceFound, dnsName: string) =>
  approvals.find((approval) => approval.dnsName === dnsName)?.problem;

describe('an issuance whose names have their own approval methods', () => {
  const ways = {
    'dns.example.com': byDns(),
    'web.example.com': byHttp,
    'mail.example.com': byEmail(address),
    '*.mail.example.com': byEmail('webmaster@example.com'),
  };

  it('is issued when each is approved by its own method, and by no other', async () => {
    const opened = await approving.order(ways);
    const nothing = await approving.advance(opened);
    expect(nothing.methods).toEqual({
      'dns.example.com': null,
      'web.example.com': null,
      'mail.example.com': null,
      '*.mail.example.com': null,
    });
    expect(problemOf(nothing, 'dns.example.com')).toMatch(/^By DNS record: (?!.*By )/);
    expect(problemOf(nothing, 'web.example.com')).toMatch(/^By web server rule: (?!.*By )/);
    expect(problemOf(nothing, 'mail.example.com')).toMatch(
      /^By email: the request to admin@example\.com (?!.*By )/,
    );
    expect(await approving.askedByEmail(opened.planId)).toEqual([
      '*.mail.example.com webmaster@example.com',
      'mail.example.com admin@example.com',
    ]);

    await approving.publishRecord('dns.example.com');
    approving.ruled.add('web.example.com');
    await approving.approveByEmail(opened.planId, 'mail.example.com');
    expect(await approving.advance(opened)).toMatchObject({
      state: 'open',
      methods: {
        'dns.example.com': 'dns',
        'web.example.com': 'http',
        'mail.example.com': 'email',
        '*.mail.example.com': null,
      },
    });
    await approving.approveByEmail(opened.planId, '*.mail.example.com');
    expect(await approving.advance(opened)).toMatchObject({ state: 'issued' });
    expect((await certificateOf(opened))?.subjectAltName?.split(', ').sort()).toEqual([
      'DNS:*.mail.example.com',
      'DNS:dns.example.com',
      'DNS:mail.example.com',
      'DNS:web.example.com',
    ]);
  });

  it('is not approved by the wrong method', async () => {
    const opened = await approving.order({
      'a.example.net': byEmail('admin@example.net'),
      'b.example.net': byHttp,
      'c.example.net': byDns(),
    });
    // Records for the first two, and a rule for the third: none of them counts.
    for (const name of ['a.example.net', 'b.example.net']) await approving.publishRecord(name);
    approving.ruled.add('c.example.net').add('a.example.net');
    const challenge = { token: 'x'.repeat(27), content: 'content' };
    await new HttpChallenges(approving.database).open(accountId, 'c.example.net', challenge);
    for (let look = 0; look < 3; look += 1) {
      const found = await approving.advance(opened);
      expect(found.state).toBe('open');
      expect(Object.values(found.methods)).toEqual([null, null, null]);
    }
    expect(await approving.askedByEmail(opened.planId)).toEqual(['a.example.net admin@example.net']);

    // The same evidence counts for the same names by any method.
    const anyway = await approving.order(
      { 'a.example.net': byDns(), 'b.example.net': byDns(), 'c.example.net': byHttp },
      { approvalWays: null },
    );
    expect(await approving.advance(anyway)).toMatchObject({
      state: 'issued',
      methods: { 'a.example.net': 'dns', 'b.example.net': 'dns', 'c.example.net': 'http' },
    });
  });

  it('sends to the address of the method, even if the terms have another one', async () => {
    const opened = await approving.order(
      { 'd.example.net': byEmail('hostmaster@example.net') },
      { approverEmails: { 'd.example.net': 'admin@example.net' } },
    );
    await approving.advance(opened);
    expect(await approving.askedByEmail(opened.planId)).toEqual(['d.example.net hostmaster@example.net']);
    await approving.approveByEmail(opened.planId, 'd.example.net');
    expect(await approving.advance(opened)).toMatchObject({ state: 'issued' });
  });

  it.each([
    ['http for a wildcard', { '*.example.org': byHttp }, 'paid_ca', /the wildcard .* cannot be approved/],
    [
      'email with a product without it',
      { 'example.org': byEmail(address) },
      'free_ca',
      /product does not offer this way/,
    ],
  ])('waits and reports why when a method is impossible: %s', async (_, impossible, product, problem) => {
    const opened = await approving.order(impossible, { product });
    const { state, approvals } = await approving.advance(opened);
    expect(state).toBe('open');
    expect(approvals[0]?.problem).toMatch(problem);
    expect(await approving.askedByEmail(opened.planId)).toEqual([]);
  });
});

describe('www.example.com with the record of example.com', () => {
  const ways = { 'www.example.com': byDns('example.com'), 'example.com': byDns() };

  beforeAll(async () => {
    await approving.database.query(
      `INSERT INTO certificate_authority (name, directory_url, trusted_roots) VALUES ('public', 'https://ca.test/dir', '{}')`,
    );
  });
  beforeEach(async () => {
    // Labels of both names are stored from here on.
    await approving.order(ways);
    for (const name of Object.keys(ways)) await approving.publishRecord(name, false);
  });

  /** The CAs of this deployment, as composed by `start`; the product decides which of them issue it. */
  async function workerOf(...authorities: readonly string[]) {
    const listed = authorities.map((name) => ({ name, profile: null }));
    await approving.database.query(`UPDATE product SET authorities = $1 WHERE name = 'paid_ca'`, [
      JSON.stringify(listed),
    ]);
    const stored = new CertificateAuthorities(approving.database);
    const builtIn = approving.issuing.ca;
    const issuers = new AuthoritiesInOrder({ builtIn, acme: null, stored, builtInAlone: false });
    return approving.worker({ issuers });
  }

  it('is approved with it when the built-in CA issues', async () => {
    const opened = await approving.order(ways);
    const worker = await workerOf('built-in');
    const without = await approving.advance(opened, worker);
    expect(problemOf(without, 'www.example.com')).toMatch(
      /_acme-challenge\.example\.com has no .*_acme-challenge\.www\.example\.com has no /,
    );
    await approving.publishRecord('example.com');
    expect(await approving.advance(opened, worker)).toMatchObject({
      state: 'issued',
      methods: { 'www.example.com': 'dns', 'example.com': 'dns' },
    });
  });

  it.each([['public'], ['built-in', 'public']])(
    'needs its own record when an ACME CA may issue: %s',
    async (...authorities) => {
      const opened = await approving.order(ways);
      await approving.publishRecord('example.com');
      const worker = await workerOf(...authorities);
      const found = await approving.advance(opened, worker);
      expect(found).toMatchObject({
        state: 'open',
        methods: { 'www.example.com': null, 'example.com': 'dns' },
      });
      expect(problemOf(found, 'www.example.com')).not.toContain('_acme-challenge.example.com');
    },
  );

  it('is not approved by the record of another tenant', async () => {
    const opened = await approving.order(ways);
    approving.network.publish('_acme-challenge.example.com', 'somebody-else.approval.test');
    const found = await approving.advance(opened, await workerOf('built-in'));
    expect(Object.values(found.methods)).toEqual([null, null]);
  });

  it('is approved with it even if the certificate does not contain that name', async () => {
    const opened = await approving.order({ 'www.example.com': byDns('example.com') });
    await approving.publishRecord('example.com');
    expect(await approving.advance(opened, await workerOf('built-in'))).toMatchObject({ state: 'issued' });
  });

  it('is approved by its own record, too', async () => {
    const opened = await approving.order({ 'www.example.com': byDns('example.com') });
    await approving.publishRecord('www.example.com');
    expect(await approving.advance(opened, await workerOf('built-in'))).toMatchObject({ state: 'issued' });
  });
});

describe('an issuance with a paid end', () => {
  const dayMs = 86_400_000;

  it('expires at that time', async () => {
    const expiresBy = new Date(Date.now() + 10 * dayMs);
    const opened = await approving.order({ 'paid.example.com': byDns() }, { expiresBy });
    await approving.publishRecord('paid.example.com');
    expect(await approving.advance(opened)).toMatchObject({ state: 'issued' });
    const certificate = await certificateOf(opened);
    expect(certificate?.validToDate).toEqual(new Date(Math.floor(expiresBy.getTime() / 1_000) * 1_000));
  });

  it('accepts a certificate that the CA makes longer', async () => {
    const { issuers } = approving.issuing.ports();
    const deaf: typeof issuers = {
      ...issuers,
      submit: async (request) => await issuers.submit({ ...request, expiresBy: null }),
    };
    const expiresBy = new Date(Date.now() + 10 * dayMs);
    const opened = await approving.order({ 'paid.example.com': byDns() }, { expiresBy });
    await approving.publishRecord('paid.example.com');
    expect(await approving.advance(opened, approving.worker({ issuers: deaf }))).toMatchObject({
      state: 'issued',
    });
    expect((await certificateOf(opened))?.validToDate.getTime()).toBeGreaterThan(expiresBy.getTime());
  });

  it('fails permanently when the time is over, and reports it', async () => {
    const opened = await approving.order({ 'paid.example.com': byDns() }, { expiresBy: new Date() });
    const found = await approving.advance(opened);
    expect(found).toMatchObject({ state: 'failed', last_error: { code: 'ca_rejected' } });
    expect(found.last_error?.message).toMatch(/^The paid term ends at /);
    expect(await certificateOf(opened)).toBeNull();
  });
});
