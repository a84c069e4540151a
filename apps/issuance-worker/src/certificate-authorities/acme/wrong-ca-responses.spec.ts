import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { decodePem } from '@certwright/pki';
import { altered, FakeAcmeServer, withMembers } from '../../acme/testing/fake-acme-server';
import { AcmeIssuing } from '../../testing/acme-issuing';
import { type OpenedIssuance, opensslCsr } from '../../testing/opened-issuance';
import { CaAccounts } from '../ca-accounts';
import { CertificateAuthorities } from '../certificate-authorities';
import { AuthorityDown, AuthorityHealth } from '../health/authority-health';
import type { AcmeOrders } from './acme-orders';
import { changeAccountKeys } from './keep-accounts';
import { maxRunMs } from './order-run';

const dnsNames = ['one.example.com'];
const csr = opensslCsr(dnsNames);

let acme: AcmeIssuing;
let server: FakeAcmeServer;
beforeAll(async () => {
  acme = await AcmeIssuing.open();
  server = await FakeAcmeServer.start();
  const root = decodePem(server.tlsRoot, 1);
  const trustedRoots = root.ok ? root.blocks.map(({ der }) => Buffer.from(der)) : [];
  const { directoryUrl, tlsRoot: tlsRoots } = server;
  await acme.authority({ name: 'faulty', directoryUrl, tlsRoots, trustedRoots });
  await acme.authoritiesAre('faulty');
}, 30_000);
afterAll(async () => {
  await server.stop();
  await acme.close();
});
beforeEach(async () => {
  server.clearOverrides();
  acme.approves = () => true;
  acme.unexpectedErrors.splice(0);
  await acme.database.query(`UPDATE certificate_authority SET down_until = NULL, problem = NULL`);
});

const order = async () => await acme.order(dnsNames, csr);
const run = async ({ issuanceId }: OpenedIssuance) => {
  await acme.timePasses();
  await acme.database.query(`UPDATE certificate_authority SET down_until = NULL`);
  await acme.worker().run(issuanceId);
  return await acme.state(issuanceId);
};
/** The path of the next order's resource. */
const next = (resource: string) => `/${resource}/${server.orders.orders.length}`;
/** The valid account at the CA. */
async function caAccountId(): Promise<string> {
  const [{ id }] = await acme.database.query<[{ id: string }]>(
    `SELECT id FROM ca_account WHERE authority = 'faulty' AND state = 'valid'`,
  );
  return id;
}
/** Runs an issuance that replaces a certificate of the account. */
async function runReplacing(
  ariId: string,
  account: string,
  failing: (orders: AcmeOrders) => Partial<AcmeOrders> = () => ({}),
): Promise<OpenedIssuance> {
  const orders = acme.orderRepository();
  const replaced = { authority: 'faulty', caAccountId: account, ariId };
  const before = async () => await Promise.resolve({ standingId: null, replaced });
  const replacing = Object.assign(Object.create(orders) as typeof orders, { before, ...failing(orders) });
  const opened = await order();
  // An issuance without an earlier lease that replaces nothing has nothing before its order.
  await acme.database.query(`UPDATE issuance SET lease_token = 1 WHERE id = $1`, [opened.issuanceId]);
  await acme.timePasses();
  await acme.worker(acme.asWorker, { orders: replacing }).run(opened.issuanceId);
  return opened;
}
const overloaded = altered({
  status: 500,
  headers: { 'content-type': 'application/problem+json' },
  body: JSON.stringify({ type: 'urn:ietf:params:acme:error:serverInternal', detail: 'busy' }),
});

describe('a CA with false responses', () => {
  it('that is still ready after finalize is finalized again later, not at once', async () => {
    const [finalize, read] = [next('finalize'), next('order')];
    server
      .override(finalize, withMembers({ status: 'ready' }))
      .override(read, withMembers({ status: 'ready' }));
    const opened = await order();
    expect(await run(opened)).toMatchObject({ state: 'open', failures: 0, last_error: null });
    expect(server.requestCount(finalize)).toBe(1);
    expect((await run(opened)).waits_s).toBeGreaterThanOrEqual(0);
    expect(server.requestCount(finalize)).toBe(2);
  });

  it.each(['processing', 'ready'])(
    'that leaves a finalized order %s is reported after three hours, until it issues',
    async (status) => {
      const [finalize, read] = [next('finalize'), next('order')];
      const slow = altered(({ headers, body }) => ({
        headers: { ...headers, 'retry-after': '7200' },
        body: JSON.stringify({ ...(JSON.parse(body) as object), status }),
      }));
      server.override(finalize, slow).override(read, slow);
      const opened = await order();
      const finalizedAgo = async (hours: number) => {
        await acme.database.query(
          `UPDATE acme_order SET finalized_at = now() - $2 * interval '1 hour' WHERE issuance_id = $1`,
          [opened.issuanceId, hours],
        );
      };
      await run(opened);
      await finalizedAgo(2.9);
      expect(await run(opened)).toMatchObject({ state: 'open', failures: 0, last_error: null });
      await finalizedAgo(3.1);
      const waiting = await run(opened);
      expect(waiting).toMatchObject({ state: 'open', failures: 0, last_error: { code: 'ca_unavailable' } });
      expect(waiting.last_error?.message).toMatch(
        /^The CA faulty has accepted the request at [-0-9T:]+Z, and has not issued the certificate yet\./,
      );
      expect(waiting.waits_s).toBeGreaterThan(7_100);
      server.clearOverrides();
      // This CA issues for another key.
      expect(await run(opened)).toMatchObject({ last_error: { code: 'certificate_mismatch' } });
    },
  );

  it('that returns one order to two issuances issues with it only for the first', async () => {
    const [finalize, read] = [next('finalize'), next('order')];
    server.override(finalize, overloaded).override(read, overloaded);
    const [first, second] = [await order(), await order()];
    expect(await run(first)).toMatchObject({ state: 'open', last_error: { code: 'ca_unavailable' } });
    const [{ order_url: url } = { order_url: null }] = await acme.orders(first);
    expect(url).toBe(server.url(read));
    server.overrideOnce('/newOrder', (correct) => {
      return { ...correct, headers: { ...correct.headers, location: url ?? '' } };
    });
    const state = await run(second);
    expect(state).toMatchObject({ state: 'open', failures: 0, last_error: { code: 'ca_unavailable' } });
    expect(state.last_error?.message).toMatch(
      /^Another request for the same names is in progress at the CA\./,
    );
    expect(state.waits_s).toBeGreaterThanOrEqual(4);
    expect(await acme.orders(second)).toMatchObject([{ state: 'wanted', order_url: null }]);
    expect(server.requestCount(finalize)).toBe(1);
    // It continues with an order of its own.
    const own = next('order');
    await run(second);
    expect(await acme.orders(second)).toMatchObject([{ order_url: server.url(own) }]);
  });

  it('that returns an order of other names at the URL of ours gets no finalize', async () => {
    const [finalize, read] = [next('finalize'), next('order')];
    server.overrideOnce(finalize, overloaded).override(read, overloaded);
    const opened = await order();
    await run(opened);
    server.override(
      read,
      withMembers({ status: 'ready', identifiers: [{ type: 'dns', value: 'other.example.com' }] }),
    );
    expect(await run(opened)).toMatchObject({ state: 'open', last_error: { code: 'ca_unavailable' } });
    expect(server.requestCount(finalize)).toBe(1);
  });

  it.each([
    ['an invalid alternate chain', altered({ body: 'no chain' })],
    [
      'an alternate chain that it does not have',
      altered({
        status: 404,
        headers: { 'content-type': 'application/problem+json' },
        body: JSON.stringify({ type: 'urn:ietf:params:acme:error:malformed', detail: 'not found' }),
      }),
    ],
  ])('that offers %s issues the certificate with its first chain', async (_, alternate) => {
    const certificate = next('certificate');
    const link = `<${server.url('/certificate/other')}>;rel="alternate"`;
    server.override(
      certificate,
      altered(({ headers }) => ({ headers: { ...headers, link } })),
    );
    server.override('/certificate/other', alternate);
    const before = server.requestCount('/certificate/other');
    await acme.database.query(`UPDATE certificate_authority SET preferred_root = 'Some other root'`);
    const state = await run(await order());
    expect(server.requestCount('/certificate/other') - before).toBe(1);
    // The alternate is for another key, and was downloaded.
    expect(state.last_error?.message).toMatch(/for another key than the request/);
    await acme.database.query(`UPDATE certificate_authority SET preferred_root = NULL`);
  });

  it('that does not send an alternate chain is waited for until that has failed, then the first one is used', async () => {
    const link = `<${server.url('/certificate/other')}>;rel="alternate"`;
    server.override(
      next('certificate'),
      altered(({ headers }) => ({ headers: { ...headers, link } })),
    );
    server.override('/certificate/other', overloaded);
    await acme.database.query(`UPDATE certificate_authority SET preferred_root = 'Some other root'`);
    const opened = await order();
    expect(await run(opened)).toMatchObject({ state: 'open', last_error: { code: 'ca_unavailable' } });
    expect(await run(opened)).toMatchObject({ state: 'open', last_error: { code: 'ca_unavailable' } });
    await acme.database.query(`UPDATE issuance SET failures = 1 WHERE id = $1`, [opened.issuanceId]);
    // The certificate is for another key, and was downloaded.
    expect((await run(opened)).last_error?.message).toMatch(/for another key than the request/);
    await acme.database.query(`UPDATE certificate_authority SET preferred_root = NULL`);
  });

  it('whose first chain leads to no trusted root issues the certificate with an alternate one that does', async () => {
    const link = `<${server.url('/certificate/other')}>;rel="alternate"`;
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '/dev/null'];
    const unknown = execFileSync('openssl', ['req', '-x509', ...key, '-subj', '/CN=Fake root'], {
      stdio: 'pipe',
    });
    const [leaf = ''] = server.orders.chain.split(/(?<=-----END CERTIFICATE-----\n)/);
    server.override(
      next('certificate'),
      altered(({ headers }) => ({ headers: { ...headers, link }, body: `${leaf}${unknown.toString()}` })),
    );
    // The certificate is for another key, and leads to a trusted root.
    expect((await run(await order())).last_error?.message).toMatch(/for another key than the request/);
  });

  it('whose chain ends in a certificate of its root by an unknown older root issues without that one', async () => {
    const [leaf = ''] = server.orders.chain.split(/(?<=-----END CERTIFICATE-----\n)/);
    const folder = mkdtempSync(path.join(tmpdir(), 'certwright-cross-'));
    const make = (name: string, subject: string, ...more: string[]) => {
      const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', subject];
      const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
      execFileSync('openssl', ['req', '-x509', ...key, ...files, ...more], { cwd: folder, stdio: 'pipe' });
      return readFileSync(path.join(folder, `${name}.pem`), 'utf8');
    };
    make('old', '/CN=Old root');
    const cross = make('cross', '/CN=Fake root', '-CA', 'old.pem', '-CAkey', 'old.key');
    rmSync(folder, { recursive: true });
    server.override(next('certificate'), altered({ body: `${leaf}${cross}` }));
    // The certificate is for another key, and leads to a trusted root.
    const message = (await run(await order())).last_error?.message;
    expect(message).toMatch(/for another key than the request/);
    expect(message).not.toMatch(/root|is not certified/);
  });

  it('that sends an odd root name is quoted in bounded, printable text', async () => {
    const subject = `/CN=evil\u0001${'x'.repeat(50)}`;
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '/dev/null'];
    const pem = execFileSync('openssl', ['req', '-x509', ...key, '-subj', subject], { stdio: 'pipe' });
    server.override(next('certificate'), altered({ body: pem.toString() }));
    const state = await run(await order());
    expect(state).toMatchObject({ state: 'failed', last_error: { code: 'certificate_mismatch' } });
    expect(state.last_error?.message).toMatch(/leads to evil x+, which is not a trusted root/);
  });
});

describe('a CA that', () => {
  const says = (status: number, type: string, headers: Readonly<Record<string, string>> = {}) =>
    altered({
      status,
      headers: { 'content-type': 'application/problem+json', ...headers },
      body: JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail: 'no' }),
    });

  it('refuses our account, such as a deactivated one, is unavailable; the name has no problem', async () => {
    await run(await order());
    await acme.database.query(
      `UPDATE ca_account SET created_at = now() - interval '2 hours' WHERE authority = 'faulty'`,
    );
    server.override('/newOrder', says(403, 'unauthorized'));
    // The account itself is fine: the refusal is about the order.
    expect((await run(await order())).last_error).toMatchObject({ code: 'ca_rejected' });
    server.override('/newAccount', says(403, 'unauthorized'));
    const opened = await order();
    const state = await run(opened);
    expect(state).toMatchObject({ state: 'open', failures: 0, last_error: { code: 'ca_unavailable' } });
    expect(state.last_error?.message).toMatch(/does not accept this platform's account.*operator/);
    expect(acme.alarms).not.toContain('account lost at faulty');
    // Irreversible (RFC 8555, section 7.1.6).
    const id = await caAccountId();
    server.override('/newAccount', altered({ status: 200, body: '{"status":"deactivated"}' }));
    await run(opened);
    expect(acme.alarms).toContain('account lost at faulty');
    server.clearOverrides();
    await run(opened);
    expect(await caAccountId()).not.toBe(id);
  });

  it('refuses an order while a key change does not end fails the order', async () => {
    await run(await order());
    const id = await caAccountId();
    await new CaAccounts(acme.asWorker).beginRollover(id, acme.accounts().newSealedKey('faulty'));
    server.override('/newOrder', says(400, 'malformed'));
    const state = await run(await order());
    expect(state).toMatchObject({ state: 'open', failures: 1, last_error: { code: 'ca_rejected' } });
    await acme.database.query(`UPDATE ca_account SET next_key_sealed = NULL, rollover_due_at = NULL`);
  });

  it('refuses a key change repeatedly is not asked for it again, and the account keeps its key', async () => {
    await run(await order());
    const accounts = new CaAccounts(acme.asWorker);
    const before = await accounts.ofAuthority('faulty');
    await new CaAccounts(acme.database).requestRollover('faulty');
    // Recognizes the former key only, the second of the two keys that are looked up.
    let asked = 0;
    const unknown = says(400, 'accountDoesNotExist');
    server.override('/newAccount', (...response) =>
      (asked += 1) % 2 === 1 ? unknown(...response) : response[0],
    );
    server.override('/keyChange', says(403, 'malformed'));
    const events: string[] = [];
    const round = changeAccountKeys({
      accounts,
      authorities: new CertificateAuthorities(acme.asWorker),
      sessions: acme.accounts(),
      servers: acme.servers,
      events: {
        keyChanged: () => events.push('changed'),
        keyNotChanged: () => events.push('retried'),
        keyChangeRefused: (authority, error) => events.push(`${authority}: ${String(error)}`),
        contactsNotUpdated: () => undefined,
      },
    });
    for (let nth = 1; nth <= 6; nth += 1) {
      await acme.database.query(
        `UPDATE ca_account SET rollover_due_at = now() WHERE rollover_due_at IS NOT NULL`,
      );
      await round();
    }
    expect(server.requestCount('/keyChange')).toBe(5);
    expect(events).toEqual([
      ...['retried', 'retried', 'retried', 'retried'],
      expect.stringMatching(/^faulty: .*malformed/),
    ]);
    expect(await accounts.ofAuthority('faulty')).toEqual(before);
  });

  it.each(['accountDoesNotExist', 'unauthorized'])(
    'recognizes neither key after a change (%s) is not asked again until an operator requests it, and both keys are kept',
    async (type) => {
      await run(await order());
      const accounts = new CaAccounts(acme.asWorker);
      await new CaAccounts(acme.database).requestRollover('faulty');
      server.override('/newAccount', says(400, type));
      const events: string[] = [];
      const round = changeAccountKeys({
        accounts,
        authorities: new CertificateAuthorities(acme.asWorker),
        sessions: acme.accounts(),
        servers: acme.servers,
        events: {
          keyChanged: () => events.push('changed'),
          keyNotChanged: () => events.push('retried'),
          keyChangeRefused: (authority, error) => events.push(`${authority}: ${String(error)}`),
          contactsNotUpdated: () => undefined,
        },
      });
      const before = await accounts.ofAuthority('faulty');
      for (let nth = 1; nth <= 6; nth += 1) {
        await acme.database.query(
          `UPDATE ca_account SET rollover_due_at = now() WHERE isfinite(rollover_due_at)`,
        );
        await round();
      }
      expect(events).toEqual([
        ...['retried', 'retried', 'retried', 'retried'],
        expect.stringMatching(/^faulty: .*neither.* Both are kept.*authority roll-account-key faulty/),
      ]);
      const kept = await accounts.ofAuthority('faulty');
      expect(kept?.keySealed).toEqual(before?.keySealed);
      expect(kept?.nextKeySealed).toBeInstanceOf(Buffer);
      const sessions = acme.accounts();
      expect(await sessions.keyChanges(await sessions.byId(kept?.id ?? ''))).toBe(false);
      // The CA recognizes the next key again, the first of the two that are looked up.
      server.clearOverrides();
      await new CaAccounts(acme.database).requestRollover('faulty');
      await round();
      expect(events.at(-1)).toBe('changed');
      expect(await accounts.ofAuthority('faulty')).toMatchObject({
        keySealed: kept?.nextKeySealed,
        nextKeySealed: null,
        rolloverDueAt: null,
      });
    },
  );

  it('requires an action of its account holder is quoted with the page that says which', async () => {
    const instance = 'https://ca.example/terms/2';
    const refused = says(403, 'userActionRequired');
    server.override('/newOrder', (...asked) =>
      withMembers({ instance })(refused(...asked) ?? asked[0], asked[1]),
    );
    const { last_error: error } = await run(await order());
    expect(error?.message).toContain(`no (${instance})`);
    expect(error?.message).toMatch(/operator of this platform/);
  });

  it('does not return an issued certificate is requested another one after four tries, once', async () => {
    const sent = server.requestCount('/newOrder');
    const missing = () => server.override(next('certificate'), says(404, 'malformed'));
    missing();
    const opened = await order();
    for (let failures = 1; failures <= 3; failures += 1) {
      expect(await run(opened)).toMatchObject({ state: 'open', failures });
      expect(await acme.orders(opened)).toMatchObject([{ state: 'open' }]);
    }
    missing();
    const lost = await run(opened);
    expect(lost).toMatchObject({ state: 'open', ca_reference: null, last_error: { code: 'ca_unavailable' } });
    expect(lost.last_error?.message).toMatch(/has issued the certificate, but does not return it: .*no/);
    expect(lost.waits_s).toBeLessThanOrEqual(0);
    for (let times = 0; times < 3; times += 1) await run(opened);
    expect(await acme.orders(opened)).toMatchObject([{ state: 'failed' }, { state: 'open' }]);
    expect(server.requestCount('/newOrder') - sent).toBe(2);
    server.clearOverrides();
    // This CA issues for another key.
    expect(await run(opened)).toMatchObject({ last_error: { code: 'certificate_mismatch' } });
  });

  it('shows an order as not finalized whose key was blocked meanwhile gets no second finalize', async () => {
    const [finalize, read] = [next('finalize'), next('order')];
    server.override(finalize, overloaded).override(read, withMembers({ status: 'ready' }));
    const opened = await order();
    await run(opened);
    const sent = server.requestCount(finalize);
    await acme.database.query(
      `INSERT INTO blocked_key (spki_sha256, account_id, reason)
       SELECT spki_sha256, account_id, 'spec' FROM terms JOIN plan ON plan.id = plan_id WHERE plan_id = $1`,
      [opened.planId],
    );
    expect(await run(opened)).toMatchObject({ state: 'open', last_error: { code: 'key_compromised' } });
    await acme.database.query(
      `UPDATE acme_order SET finalized_at = now() - interval '61 minutes' WHERE issuance_id = $1`,
      [opened.issuanceId],
    );
    await run(opened);
    expect(await run(opened)).toMatchObject({ state: 'failed', last_error: { code: 'key_compromised' } });
    expect(server.requestCount(finalize)).toBe(sent);
    await acme.database.query(`DELETE FROM blocked_key`);
  });

  it('leaves an order processing after it has expired does not issue it', async () => {
    const [finalize, read] = [next('finalize'), next('order')];
    const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
    const processing = (expires: string) => withMembers({ status: 'processing', expires });
    server.override(finalize, processing(inHours(1))).override(read, processing(inHours(-0.5)));
    const opened = await order();
    await run(opened);
    expect(await run(opened)).toMatchObject({ state: 'open', failures: 0 });
    server.override(read, processing(inHours(-1.5)));
    const state = await run(opened);
    expect(state).toMatchObject({ failures: 1, last_error: { code: 'ca_rejected' } });
    expect(state.last_error?.message).toMatch(/expired at the CA/);
  });
});

describe('before every order', () => {
  it('checks again for a record that was removed after the approval', async () => {
    const limited = JSON.stringify({ type: 'urn:ietf:params:acme:error:rateLimited', detail: 'new orders' });
    server.overrideOnce('/newOrder', (correct) => ({ ...correct, status: 429, body: limited }));
    const opened = await order();
    expect(await run(opened)).toMatchObject({ last_error: { code: 'rate_limited' } });
    const sent = server.requestCount('/newOrder');
    // As old as after the shortest back-off; by age alone it would be valid for months.
    const minuteAgo = `${new Date(Date.now() - 60_000).toISOString().slice(0, 19)}Z`;
    await acme.database.query(
      `UPDATE issuance SET approvals = jsonb_set(approvals, '{0,checkedAt}', to_jsonb($2::text)) WHERE id = $1`,
      [opened.issuanceId, minuteAgo],
    );
    acme.approves = () => false;
    expect((await run(opened)).state).toBe('open');
    expect(server.requestCount('/newOrder')).toBe(sent);
    const [row] = await acme.database.query<[{ approvals: object[] }]>(
      `SELECT approvals FROM issuance WHERE id = $1`,
      [opened.issuanceId],
    );
    expect(row.approvals).toMatchObject([{ status: 'pending' }]);
    acme.approves = () => true;
    await run(opened);
    expect(server.requestCount('/newOrder')).toBe(sent + 1);
  });
});

describe('an order', () => {
  it.each([
    ['before it responds is finalized at once', 'valid', 1],
    ['after it responds is not', 'processing', 0],
  ])('at a CA that validates %s', async (_, status, finalizations) => {
    const [challenge, finalize] = [next('challenge'), next('finalize')];
    const pending = withMembers({ status: 'pending' });
    const { token, url, type } = { token: 'x'.repeat(22), url: server.url(challenge), type: 'dns-01' };
    server
      .override('/newOrder', pending)
      .override(
        next('authorization'),
        withMembers({ status: 'pending', challenges: [{ type, url, token, status: 'pending' }] }),
      )
      .override(challenge, withMembers({ status }));
    await run(await order());
    expect(server.requestCount(challenge)).toBe(1);
    expect(server.requestCount(finalize)).toBe(finalizations);
  });

  /** The next order has a pending challenge, whose response the CA refuses. @returns paths */
  const refusesResponse = (status: number, type: string, later: 'pending' | 'valid' = 'pending') => {
    const [authorization, challenge, finalize] = [next('authorization'), next('challenge'), next('finalize')];
    const { token, url } = { token: 'r'.repeat(22), url: server.url(challenge) };
    const as = (state: string) =>
      withMembers({ status: state, challenges: [{ type: 'dns-01', url, token, status: state }] });
    let sent = false;
    server
      .override('/newOrder', withMembers({ status: 'pending' }))
      .override(next('order'), withMembers({ status: later === 'valid' ? 'ready' : 'pending' }))
      .override(authorization, (...asked) => as(sent ? later : 'pending')(...asked))
      .override(challenge, (...asked) => {
        sent = true;
        return altered({
          status,
          headers: { 'content-type': 'application/problem+json' },
          body: JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail: 'no' }),
        })(...asked);
      });
    return { challenge, finalize };
  };

  it.each([
    [409, 'malformed', { failures: 0, last_error: { code: 'ca_unavailable' } }],
    [400, 'malformed', { failures: 1, last_error: { code: 'ca_unavailable' } }],
    [403, 'unauthorized', { failures: 1, last_error: { code: 'ca_unavailable' } }],
  ])('whose response to a challenge is refused with %i %s responds again', async (status, type, expected) => {
    const { challenge } = refusesResponse(status, type);
    const opened = await order();
    const state = await run(opened);
    expect(state).toMatchObject({ state: 'open', ...expected });
    expect(state.waits_s).toBeLessThanOrEqual(60);
    expect(await acme.orders(opened)).toMatchObject([{ state: 'open' }]);
    expect(server.requestCount(challenge)).toBe(1);
    await run(opened);
    expect(server.requestCount(challenge)).toBe(2);
  });

  it('whose response to a challenge is refused because the name was just validated is finalized', async () => {
    const { challenge, finalize } = refusesResponse(400, 'malformed', 'valid');
    await run(await order());
    expect(server.requestCount(challenge)).toBe(1);
    expect(server.requestCount(finalize)).toBe(1);
  });

  it('keeps waiting when only the repetition of its response is refused', async () => {
    const { challenge } = refusesResponse(400, 'malformed');
    const opened = await order();
    const clear = withMembers({ status: 'pending', type: 'dns-01', url: server.url(challenge) });
    server.overrideOnce(challenge, clear);
    await run(opened);
    refusesResponse(400, 'malformed');
    server.override(
      challenge,
      altered({
        status: 400,
        headers: { 'content-type': 'application/problem+json' },
        body: JSON.stringify({ type: 'urn:ietf:params:acme:error:malformed', detail: 'in progress' }),
      }),
    );
    await acme.database.query(
      `UPDATE acme_order SET challenges = jsonb_set(challenges, '{0,respondedAt}', '"2026-01-01T00:00:00Z"')
       WHERE issuance_id = $1`,
      [opened.issuanceId],
    );
    expect(await run(opened)).toMatchObject({ state: 'open', failures: 0, last_error: null });
    expect(server.requestCount(challenge)).toBe(2);
  });

  it('responds to its challenges also when reading the authorizations takes longer than a run', async () => {
    const [authorization, challenge] = [next('authorization'), next('challenge')];
    const { token, url, type } = { token: 'z'.repeat(22), url: server.url(challenge), type: 'dns-01' };
    const pending = withMembers({ status: 'pending', challenges: [{ type, url, token, status: 'pending' }] });
    const now = performance.now.bind(performance);
    let lateMs = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + lateMs);
    server
      .override('/newOrder', withMembers({ status: 'pending' }))
      .override(authorization, (correct, socket) => {
        lateMs += maxRunMs + 1_000;
        return pending(correct, socket);
      })
      .override(challenge, withMembers({ status: 'processing' }));
    await run(await order());
    clock.mockRestore();
    expect(server.requestCount(authorization)).toBe(1);
    expect(server.requestCount(challenge)).toBe(1);
  });

  it('withdraws its values also when the CA went down while the run waited', async () => {
    const names = ['waiting.example.com'];
    const challenge = next('challenge');
    const { token, url, type } = { token: 'y'.repeat(22), url: server.url(challenge), type: 'dns-01' };
    server
      .override('/newOrder', withMembers({ status: 'pending' }))
      .override(
        next('authorization'),
        withMembers({ status: 'pending', challenges: [{ type, url, token, status: 'pending' }] }),
      )
      .override(challenge, withMembers({ status: 'processing' }));
    const stored = new CertificateAuthorities(acme.asWorker);
    const health = new AuthorityHealth(stored, { down: () => undefined, up: () => undefined });
    const problem = { code: 'ca_unreachable', authority: 'faulty', detail: '' } as const;
    const pause = async () => {
      await stored.markDown('faulty', { scope: 'everything', problem }, { probeInMs: 60_000 });
      return true;
    };
    const opened = await acme.order(names, opensslCsr(names));
    await acme.worker(acme.asWorker, { health }).run(opened.issuanceId, null, pause);
    expect(await acme.state(opened.issuanceId)).toMatchObject({ state: 'open', failures: 0 });
    expect(await acme.published(...names)).toBe(1);
    server.clearOverrides();
    await stored.markUp('faulty');
    await run(opened);
    expect(await acme.published(...names)).toBe(0);
  });

  it.each([
    ['the same account ordered it', true],
    ['another account ordered it', false],
  ])('has `replaces` where %s: %s', async (_, isSame) => {
    await run(await order());
    const ariId = 'YWJj.ZGVm';
    await runReplacing(ariId, isSame ? await caAccountId() : '999999');
    const sent = server.requests.filter(({ path }) => path === '/newOrder').at(-1);
    const payload = JSON.parse(Buffer.from(sent?.jws?.payload ?? '', 'base64url').toString()) as object;
    expect(payload).toEqual({
      identifiers: [{ type: 'dns', value: 'one.example.com' }],
      ...(isSame ? { replaces: ariId } : {}),
    });
  });

  describe('with limits that exempt replacements', () => {
    const limits = { newOrders: { count: 10, perS: 36_000 }, replacementsExempt: true };
    const change = async (to: object) =>
      await acme.database.query(`UPDATE certificate_authority SET limits = $1 WHERE name = 'faulty'`, [to]);
    const spent = async () => {
      const [bucket] = await acme.database.query<[{ spent: number }?]>(
        `SELECT spent FROM ca_limit_bucket WHERE ca_account_id = $1 AND kind = 'newOrders'`,
        [await caAccountId()],
      );
      return bucket?.spent ?? 0;
    };
    const refused = (type: string) =>
      altered({
        status: 403,
        headers: { 'content-type': 'application/problem+json' },
        body: JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail: 'no' }),
      });
    const [withReplaces, without] = [refused('alreadyReplaced'), refused('rejectedIdentifier')];
    let sent = 0;

    beforeEach(async () => {
      await change(limits);
      await run(await order());
      await acme.database.query(`UPDATE ca_limit_bucket SET spent = 5, at = now()`);
      sent = 0;
    });
    afterEach(async () => await change({}));

    const refuseReplaces = (others: ReturnType<typeof refused> | null) =>
      server.override('/newOrder', (correct, socket) => {
        sent += 1;
        const response = sent === 1 ? withReplaces : others;
        return response === null ? correct : response(correct, socket);
      });

    it('gives back no more than was taken for an order that is refused without `replaces`, too', async () => {
      refuseReplaces(without);
      await runReplacing('YWJj.ZGVm', await caAccountId());
      expect(sent).toBe(2);
      expect(await spent()).toBeCloseTo(5, 1);
    });

    it('gives back no more than was taken when the worker stops before the order without `replaces`', async () => {
      refuseReplaces(without);
      const opened = await runReplacing('YWJj.ZGVm', await caAccountId(), (orders) => ({
        withoutReplaces: async (...args) => {
          await orders.withoutReplaces(...args);
          throw new Error('the worker stops');
        },
      }));
      expect(sent).toBe(1);
      await run(opened);
      expect(sent).toBe(2);
      expect(await spent()).toBeCloseTo(5, 1);
    });

    it('takes what an order without `replaces` costs, which the CA accepts', async () => {
      refuseReplaces(null);
      await runReplacing('YWJj.ZGVm', await caAccountId());
      expect(sent).toBe(2);
      expect(await spent()).toBeCloseTo(6, 1);
    });

    it('takes nothing when the worker stops before the order is stored', async () => {
      const begin = async () => await Promise.reject(new Error('the worker stops'));
      const orders = Object.assign(Object.create(acme.orderRepository()) as AcmeOrders, { begin });
      await acme.worker(acme.asWorker, { orders }).run((await order()).issuanceId);
      expect(await spent()).toBeCloseTo(5, 1);
    });
  });

  it('is revoked with one request per interval while the CA is down, and success marks the CA up', async () => {
    const opened = await order();
    await run(opened);
    const [{ ca_reference: reference } = { ca_reference: null }] = await acme.database.query<
      { ca_reference: string }[]
    >(`SELECT 'acme:' || id AS ca_reference FROM acme_order WHERE issuance_id = $1`, [opened.issuanceId]);
    const revoke = async () =>
      await acme.issuers().revoke(reference ?? '', { serialNumber: '', leaf: Buffer.of(1), reason: 1 });
    const sent = () => server.requestCount('/revokeCert');
    const before = sent();
    await acme.database.query(
      `UPDATE certificate_authority SET down_since = now(), down_until = now() + interval '1 h', down_for = 'everything'`,
    );
    await expect(revoke()).rejects.toThrow(AuthorityDown);
    expect(sent()).toBe(before);
    await acme.database.query(`UPDATE certificate_authority SET down_until = now()`);
    await revoke();
    expect(sent()).toBe(before + 1);
    const rows = await acme.database.query<unknown[]>(
      `SELECT 1 FROM certificate_authority WHERE down_since IS NOT NULL`,
    );
    expect(rows).toEqual([]);
  });

  it('whose revocation is refused by a CA that counts as down shows that the CA is up', async () => {
    const opened = await order();
    await run(opened);
    const { ca_reference: reference } = await acme.state(opened.issuanceId);
    const issuers = acme.issuers();
    const revoke = async () =>
      await issuers.revoke(reference ?? '', { serialNumber: '', leaf: Buffer.of(1), reason: 1 });
    const body = JSON.stringify({ type: 'urn:ietf:params:acme:error:unauthorized', detail: 'not yours' });
    const headers = { 'content-type': 'application/problem+json' };
    server.overrideOnce('/revokeCert', altered({ status: 403, headers, body }));
    await acme.database.query(
      `UPDATE certificate_authority SET down_since = now(), down_until = now(), down_for = 'everything'`,
    );
    await expect(revoke()).rejects.toMatchObject({ kind: 'problem' });
    // The next one, which may be another certificate, does not wait for the next probe.
    await revoke();
  });

  it('is not revoked before the time that the CA requests, nor is another one', async () => {
    const opened = await order();
    await run(opened);
    const { ca_reference: reference } = await acme.state(opened.issuanceId);
    const issuers = acme.issuers();
    const revoke = async () =>
      await issuers.revoke(reference ?? '', { serialNumber: '', leaf: Buffer.of(1), reason: 1 });
    const limited = JSON.stringify({ type: 'urn:ietf:params:acme:error:rateLimited', detail: 'revocations' });
    const headers = { 'content-type': 'application/problem+json', 'retry-after': '60' };
    server.overrideOnce('/revokeCert', altered({ status: 429, headers, body: limited }));
    const before = server.requestCount('/revokeCert');
    await expect(revoke()).rejects.toMatchObject({ kind: 'rate_limited' });
    await expect(revoke()).rejects.toThrow(AuthorityDown);
    expect(server.requestCount('/revokeCert')).toBe(before + 1);
  });

  it('is revoked with the successor of an ended account', async () => {
    server.override(next('finalize'), overloaded);
    const { ca_reference: reference } = await run(await order());
    await acme.database.query(`UPDATE ca_account SET state = 'ended'`);
    const location = server.url('/account/2');
    server.override('/newAccount', (correct) => ({ ...correct, headers: { ...correct.headers, location } }));
    await acme.issuers().revoke(reference ?? '', { serialNumber: '', leaf: Buffer.of(1), reason: 1 });
    const sent = server.requests.filter(({ path }) => path === '/revokeCert').at(-1);
    const header = Buffer.from(sent?.jws?.protected ?? '', 'base64url').toString();
    expect(JSON.parse(header)).toMatchObject({ kid: location });
  });
});
