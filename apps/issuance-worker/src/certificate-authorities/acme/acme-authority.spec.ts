import { X509Certificate } from 'node:crypto';
import { PendingRevocations } from '../../revocations/pending-revocations';
import { Attachments, BlockedKeys, Issuances, LeasedIssuances, Revocations } from '@certwright/ordering';
import { Outbox, Transactions } from '@certwright/core-schema';
import { eventually } from '@certwright/testing';
import { installedPebbles } from '../../acme/testing/pebble';
import { revokeCertificate } from '../../revocations/revoke-certificate';
import { AcmeIssuing } from '../../testing/acme-issuing';
import { type OpenedIssuance, opensslCsr } from '../../testing/opened-issuance';

const hourMs = 3_600_000;

let acme: AcmeIssuing;
beforeAll(async () => void (acme = await AcmeIssuing.open()), 30_000);
afterAll(async () => await acme.close());
afterEach(() => Object.assign(acme, { methods: () => 'dns', clockAheadMs: 0 }));

const parsed = (leaf: Buffer | undefined) => new X509Certificate(leaf ?? Buffer.of());
const sansOf = (leaf: Buffer | undefined) => parsed(leaf).subjectAltName?.split(', ').sort();

async function order(...dnsNames: readonly string[]): Promise<OpenedIssuance> {
  return await acme.order(dnsNames, opensslCsr(dnsNames));
}

async function expectIssued(opened: OpenedIssuance) {
  expect(await acme.advance(opened)).toMatchObject({ state: 'issued', failures: 0, last_error: null });
  const [certificate, ...more] = await acme.certificates(opened);
  expect(more).toEqual([]);
  expect(acme.unexpectedErrors).toEqual([]);
  return certificate;
}

/** The revocation for a compromised key is pending, and the CA accepts it. */
async function expectRevokedAtCa(certificateId: string): Promise<void> {
  const pending = new PendingRevocations(acme.asWorker, new Transactions(acme.asWorker));
  expect(await pending.find(certificateId)).toMatchObject({ reason: 1 });
  const failures: unknown[] = [];
  const failed = (_: unknown, failure: unknown) => void failures.push(failure);
  await revokeCertificate(
    { pending, issuers: acme.issuers(), revoked: () => undefined, failed },
    certificateId,
  );
  expect(failures).toEqual([]);
  expect(await pending.find(certificateId)).toBeNull();
}

/** As the API does. */
async function pause(planId: string): Promise<void> {
  const issuances = new Issuances(acme.database, new Outbox(acme.database));
  await new Transactions(acme.database).run(async (tx) => {
    await tx.query(`UPDATE plan SET paused = true WHERE id = $1`, [planId]);
    await issuances.closeOpen(tx, planId, 'superseded');
  });
}

describe.each(installedPebbles)('the %s pebble', (release) => {
  beforeAll(async () => {
    const pebble = await acme.pebble(release, {}, {}, release);
    await acme.serveFiles(pebble.httpPort);
    await acme.authoritiesAre(release);
  });

  it('issues once for a name and its wildcard, and withdraws published values', async () => {
    const opened = await order('one.example.com', '*.one.example.com');
    const certificate = await expectIssued(opened);
    expect(certificate?.is_current).toBe(true);
    expect(sansOf(certificate?.leaf)).toEqual(['DNS:*.one.example.com', 'DNS:one.example.com']);
    expect(certificate?.ca_reference).toMatch(/^acme:\d+$/);
    expect(await acme.orders(opened)).toMatchObject([{ state: 'issued', authority: release }]);
    expect(await acme.published('one.example.com')).toBe(0);
  });

  it.each([
    ['ahead of', 5 * hourMs],
    ['behind', -5 * hourMs],
  ])(
    'issues at the usual intervals when the clock of the worker is %s the database by hours',
    async (_, ms) => {
      acme.clockAheadMs = ms;
      const opened = await order('clock.example.com');
      const worker = acme.worker();
      await eventually(
        async () => {
          await worker.run(opened.issuanceId);
          const { state, waits_s } = await acme.state(opened.issuanceId);
          expect(waits_s).toBeLessThan(60);
          expect(state).toBe('issued');
        },
        { withinMs: 30_000, everyMs: 100 },
      );
    },
    40_000,
  );

  it('proves names approved by the web server rule with http-01, and others with dns-01', async () => {
    acme.methods = (name) => (name.startsWith('web.') ? 'http' : 'dns');
    const opened = await order('web.example.com', 'dns.example.com');
    await expectIssued(opened);
    const [row] = await acme.database.query<[{ challenges: { dnsName: string; type: string }[] }]>(
      `SELECT challenges FROM acme_order WHERE issuance_id = $1`,
      [opened.issuanceId],
    );
    expect(Object.fromEntries(row.challenges.map(({ dnsName, type }) => [dnsName, type]))).toEqual({
      'web.example.com': 'http-01',
      'dns.example.com': 'dns-01',
    });
    expect(await acme.published('web.example.com', 'dns.example.com')).toBe(0);
  });

  it('gets no order for a name approved only by email, and the order states what to do', async () => {
    acme.methods = (name) => (name.startsWith('mail.') ? 'email' : 'dns');
    const opened = await order('mail.example.com', 'other.example.com');
    const { last_error: error, state } = await acme.advance(opened);
    expect({ state, code: error?.code }).toEqual({ state: 'open', code: 'authorization_failed' });
    expect(error?.message).toMatch(
      /accepts no approval by email; .*: mail\.example\.com\. Set up the DNS record/,
    );
    expect(await acme.orders(opened)).toEqual([]);
  });

  it('leads to its root, and stores no unused root', async () => {
    const certificate = await expectIssued(await order('rooted.example.com'));
    expect(certificate?.chain).toHaveLength(1);
    const [intermediate] = certificate?.chain ?? [];
    expect(parsed(intermediate).checkIssued(parsed(certificate?.root))).toBe(true);
  });

  it('has a certificate revoked whose key is blocked before it is attached', async () => {
    const names = [`blocked-${release}.example.com`];
    const opened = await acme.order(names, opensslCsr(names));
    const attachments = new Attachments(new Transactions(acme.asWorker));
    const attach = attachments.attach.bind(attachments);
    attachments.attach = async (lease, attachment) => {
      attachments.attach = attach;
      await new BlockedKeys(acme.database).add([attachment.spkiSha256], 'spec');
      return await attach(lease, attachment);
    };
    const worker = acme.worker(acme.asWorker, {}, attachments);
    await eventually(async () => {
      await acme.timePasses();
      await worker.run(opened.issuanceId);
      expect(await acme.state(opened.issuanceId)).toMatchObject({
        state: 'failed',
        last_error: { code: 'key_compromised' },
      });
    });
    const [certificate, ...more] = await acme.certificates(opened);
    expect(more).toEqual([]);
    expect(certificate?.is_current).toBe(false);
    expect(await acme.orders(opened)).toMatchObject([{ state: 'issued' }]);
    await expectRevokedAtCa(certificate?.id ?? '');
  });

  it.each(['before', 'after'] as const)(
    'has a certificate revoked whose order is paused %s its key is blocked',
    async (when) => {
      const names = [`paused-${when}-${release}.example.com`];
      const opened = await acme.order(names, opensslCsr(names));
      const attachments = new Attachments(new Transactions(acme.asWorker));
      const attach = attachments.attach.bind(attachments);
      attachments.attach = async (lease, attachment) => {
        attachments.attach = attach;
        const { planId, spkiSha256 } = attachment;
        const block = async () => await new BlockedKeys(acme.database).add([spkiSha256], 'spec');
        if (when === 'after') await block();
        await pause(planId);
        if (when === 'before') await block();
        return await attach(lease, attachment);
      };
      const worker = acme.worker(acme.asWorker, {}, attachments);
      await eventually(async () => {
        await acme.timePasses();
        await worker.run(opened.issuanceId);
        expect((await acme.state(opened.issuanceId)).state).toBe('superseded');
      });
      for (const { id } of await new LeasedIssuances(acme.asWorker).due(100)) await worker.run(id);
      expect(await acme.state(opened.issuanceId)).toMatchObject({
        state: 'superseded',
        last_error: { code: 'key_compromised' },
      });
      const [certificate, ...more] = await acme.certificates(opened);
      expect(more).toEqual([]);
      expect(certificate?.is_current).toBe(false);
      expect(await acme.orders(opened)).toMatchObject([{ state: 'issued' }]);
      await expectRevokedAtCa(certificate?.id ?? '');
      const due = await new LeasedIssuances(acme.asWorker).due(100);
      expect(due.map(({ id }) => id)).not.toContain(opened.issuanceId);
    },
  );

  it('revokes with the account that ordered', async () => {
    const opened = await order('revoked.example.com');
    const certificate = await expectIssued(opened);
    const certificateId = certificate?.id ?? '';
    const { database } = acme;
    await new Transactions(database).run(
      async (tx) =>
        await new Revocations().request(tx, {
          planId: opened.planId,
          certificateId,
          reason: 4,
          requestedBy: 'subscriber',
        }),
    );
    const pending = new PendingRevocations(acme.asWorker, new Transactions(acme.asWorker));
    await revokeCertificate(
      { pending, issuers: acme.issuers(), revoked: () => undefined, failed: () => undefined },
      certificateId,
    );
    expect(await pending.find(certificateId)).toBeNull();
  });
});

const itWithNewer = installedPebbles.includes('newer') ? it : it.skip;

describe('the newer pebble', () => {
  itWithNewer(
    'issues without a failure while it refuses every second nonce',
    async () => {
      await acme.pebble('nonces', { nonceReject: 50 });
      await acme.authoritiesAre('nonces');
      const opened = await Promise.all([1, 2, 3, 4, 5, 6].map(async (n) => await order(`n${n}.example.com`)));
      await Promise.all(opened.map(async (each) => await acme.advance(each)));
      for (const each of opened)
        expect(await acme.state(each.issuanceId)).toMatchObject({ state: 'issued', failures: 0 });
    },
    60_000,
  );

  itWithNewer('uses external account binding, whose secret only the worker can open', async () => {
    await acme.pebble('bound', { eab: true });
    await acme.authoritiesAre('bound');
    await expectIssued(await order('bound.example.com'));
    await acme.pebble('unbound', { eab: true }, { externalAccount: null });
    await acme.authoritiesAre('unbound');
    const { last_error: error } = await acme.advance(await order('unbound.example.com'));
    expect(error?.code).toBe('ca_unavailable');
    expect(error?.message).toMatch(
      /requires the platform's account to be bound to a customer.* operator of this platform/,
    );
  });

  itWithNewer('issues by the profile that the product names', async () => {
    const dayS = 86_400;
    const profiles = {
      classic: { description: '90 days', validityPeriod: 90 * dayS },
      shortlived: { description: '6 days', validityPeriod: 6 * dayS },
    };
    await acme.pebble('profiles', { profiles });
    await acme.authoritiesAre({ name: 'profiles', profile: 'shortlived' });
    const certificate = await expectIssued(await order('short.example.com'));
    const { validFromDate, validToDate } = parsed(certificate?.leaf);
    expect(Math.round((validToDate.getTime() - validFromDate.getTime()) / 86_400_000)).toBe(6);
    await acme.authoritiesAre({ name: 'profiles', profile: 'none' });
    const { last_error: error } = await acme.advance(await order('none.example.com'));
    expect(error).toMatchObject({
      code: 'ca_rejected',
      message: expect.stringContaining('does not have the profile'),
    });
  });

  itWithNewer('selects the chain to the preferred root', async () => {
    const pebble = await acme.pebble('chains', { alternateRoots: 1 });
    await acme.authoritiesAre('chains');
    const first = await expectIssued(await order('first.example.com'));
    const other = await acme.root(pebble, 1);
    const name = /CN=(.*)/.exec(parsed(other).subject)?.[1] ?? '';
    await acme.database.query(
      `UPDATE certificate_authority SET preferred_root = $1, trusted_roots = trusted_roots || $2::bytea WHERE name = 'chains'`,
      [name, other],
    );
    const second = await expectIssued(await order('second.example.com'));
    expect(parsed(second?.root).subject).toContain(name);
    expect(parsed(first?.root).subject).not.toContain(name);
  });

  itWithNewer('gets no new challenge value for a reused authorization, after our own approval', async () => {
    await acme.pebble('reusing', { authzReuse: 100 });
    await acme.authoritiesAre('reusing');
    await expectIssued(await order('reused.example.com'));
    const again = await order('reused.example.com');
    await expectIssued(again);
    const [row] = await acme.database.query<[{ challenges: unknown[] }]>(
      `SELECT challenges FROM acme_order WHERE issuance_id = $1`,
      [again.issuanceId],
    );
    expect(row.challenges).toEqual([]);
    // Another tenant without its own record: the CA would issue at once, but gets no order.
    acme.approves = () => false;
    const dnsNames = ['reused.example.com'];
    const stranger = await acme.order(dnsNames, opensslCsr(dnsNames), '1000000000002');
    await acme.worker().run(stranger.issuanceId);
    expect(await acme.orders(stranger)).toEqual([]);
    acme.approves = () => true;
  });

  itWithNewer('which rejects a name leads to a final failure in its own words', async () => {
    await acme.pebble('blocking', { blocked: ['blocked.example.com'] });
    await acme.authoritiesAre('blocking');
    const state = await acme.advance(await order('fine.example.com', 'blocked.example.com'));
    expect(state).toMatchObject({ state: 'failed', last_error: { code: 'ca_rejected' } });
    expect(state.last_error?.message).toMatch(/blocked\.example\.com/);
    expect(state.last_error?.message).toMatch(
      /Remove the name from the certificate, or choose another product/,
    );
  });
});

describe.each(installedPebbles.slice(0, 1))('a CA that does not find the value', (release) => {
  it('fails the order with name and reason, and counts a failed authorization', async () => {
    const limits = { failedAuthorizations: { count: 1, perS: 3_600 }, perNameSet: { count: 5, perS: 3_600 } };
    await acme.pebble('looking', {}, { limits }, release);
    await acme.authoritiesAre('looking');
    const opened = await order('lost.example.com', 'found.example.com');
    acme.hidden.add('lost.example.com');
    const first = await acme.advance(opened);
    expect(first).toMatchObject({ state: 'open', failures: 1, last_error: { code: 'authorization_failed' } });
    expect(first.last_error?.message).toMatch(/lost\.example\.com: The CA did not find the proof/);
    expect(first.last_error?.message).not.toMatch(/found\.example\.com: /);
    expect(first.waits_s).toBeGreaterThan(30);
    expect(await acme.orders(opened)).toMatchObject([{ state: 'failed' }]);
    expect(await acme.published('lost.example.com', 'found.example.com')).toBe(0);
    await acme.timePasses();
    await acme.worker().run(opened.issuanceId);
    const second = await acme.state(opened.issuanceId);
    expect(second).toMatchObject({ state: 'open', failures: 1, last_error: { code: 'rate_limited' } });
    expect(second.waits_s).toBeGreaterThan(600);
    acme.hidden.clear();
  });

  it('gets no challenge response before our own name servers return the value', async () => {
    acme.silent = true;
    await acme.pebble('waiting', {}, {}, release);
    await acme.authoritiesAre('waiting');
    const opened = await order('silent.example.com');
    const state = await acme.advance(opened);
    expect(state).toMatchObject({ state: 'open', failures: 0, last_error: { code: 'ca_unavailable' } });
    expect(state.last_error?.message).toMatch(/^The value that the CA looks for is not visible yet: /);
    acme.silent = false;
    await acme.timePasses();
    expect((await acme.advance(opened)).state).toBe('issued');
  });

  it('gets no challenge response while the integration is in use, and no worker waits for it', async () => {
    await acme.pebble('taking turns', {}, { name: 'turns' }, release);
    await acme.authoritiesAre('turns');
    const opened = await order('turns.example.com');
    const challenges = {
      publish: async () => await Promise.resolve({ problem: null, pauseMs: 2_000 }),
      unseen: async () => await Promise.reject(new Error('nothing is published')),
      withdraw: async () => await Promise.resolve(),
    };
    await acme.worker(acme.asWorker, { challenges }).run(opened.issuanceId);
    const state = await acme.state(opened.issuanceId);
    expect(state).toMatchObject({ state: 'open', failures: 0, last_error: null });
    expect(state.waits_s).toBeGreaterThan(0);
    expect(state.waits_s).toBeLessThanOrEqual(2);
    await acme.timePasses();
    expect((await acme.advance(opened)).state).toBe('issued');
  });
});
