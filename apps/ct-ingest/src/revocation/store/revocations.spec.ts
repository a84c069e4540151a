import { LeaseLost } from '@certwright/postgres';
import { randomBytes } from 'node:crypto';
import { type CheckedIssuance, factsAbout } from '@certwright/ct-testing';
import { CtDatabaseFixture } from '@certwright/ct-testing';
import { ctDataSource } from '@certwright/ct-schema';
import { applyCrl, type ListedRevocation, maxRevocationsPerIssuer, type VerifiedCrl } from './apply-crl';
import { CrlHosts } from './crl-hosts';
import { CrlIds, maxCrlsPerIssuer, maxHostsPerIssuer } from '@certwright/ct-index';
import { CtCrls } from './ct-crls';
import { type HostLease } from './host-lease';

jest.setTimeout(60_000);

let ct: CtDatabaseFixture;
let crls: CtCrls;
let issuer: number;
beforeAll(async () => {
  ct = await CtDatabaseFixture.open();
  crls = new CtCrls(ct.database);
});
afterAll(async () => await ct.close());
beforeEach(async () => {
  await ct.database.query(`TRUNCATE ct_crl, ct_crl_host, ct_revocation, ct_issuer_profile, ct_issuer`);
  issuer = await anIssuer();
});

const day = 86_400_000;
const soon = (days = 7) => new Date(Date.now() + days * day);

async function anIssuer(spki = randomBytes(32)): Promise<number> {
  const [row] = await ct.database.query<[{ id: number }]>(
    `INSERT INTO ct_issuer (spki_sha256, name_sha256, name_der, spki_der) VALUES ($1, $2, '\\x3000', '\\x3000') RETURNING id`,
    [spki, randomBytes(32)],
  );
  return row.id;
}

/** Adds the list like the first certificate that names it. */
async function named(url: string, of = issuer, notAfter = soon(90)): Promise<number> {
  const [id] = await new CrlIds().ensure(ct.database.manager, [{ issuer: of, url, notAfter }]);
  if (id === null || id === undefined) throw new Error('no list');
  return id;
}

const serial = (digits: string) => Buffer.from(digits, 'hex');
const revoked = (digits: string, reason = 1, at = '2026-01-01T00:00:00Z'): ListedRevocation => ({
  serial: serial(digits),
  revokedAt: Date.parse(at),
  reason,
});
const list = (
  entries: readonly ListedRevocation[] | Iterable<readonly ListedRevocation[]>,
  change: Partial<VerifiedCrl> = {},
): VerifiedCrl => ({
  contentSha256: randomBytes(32),
  number: null,
  thisUpdate: new Date('2026-02-01T00:00:00Z'),
  nextUpdate: soon(),
  freshUntil: soon(),
  etag: null,
  lastModified: null,
  revoked: Array.isArray(entries) ? piecesOf(entries) : (entries as Iterable<readonly ListedRevocation[]>),
  covers: () => true,
  ...change,
});
const never = new AbortController().signal;

function* piecesOf(entries: readonly ListedRevocation[]): Generator<readonly ListedRevocation[]> {
  for (let at = 0; at < entries.length; at += 10_000) yield entries.slice(at, at + 10_000);
}

/** The current leaseholder of the list's host. */
async function holderOf(id: number): Promise<HostLease> {
  await new CrlHosts(ct.database).discover();
  const [lease] = await ct.database.query<[HostLease]>(
    `SELECT host, lease_token AS token, ct_crl_host.failures FROM ct_crl_host JOIN ct_crl USING (host) WHERE id = $1`,
    [id],
  );
  return lease;
}

/** Transfers the lease. */
async function takeOver(id: number): Promise<void> {
  await ct.database.query(
    `UPDATE ct_crl_host SET lease_token = lease_token + 1 WHERE host = (SELECT host FROM ct_crl WHERE id = $1)`,
    [id],
  );
}

const apply = async (
  id: number,
  entries: readonly ListedRevocation[] | Iterable<readonly ListedRevocation[]>,
  change: Partial<VerifiedCrl> = {},
) =>
  await crls.apply(
    { id, lease: await holderOf(id), requestedAt: new Date() },
    list(entries, change),
    1_000,
    never,
  );
const facts = async (...checked: readonly Partial<CheckedIssuance>[]) =>
  await factsAbout(
    ct.database,
    checked.map((each) => ({
      ...{ issuer, crl: null, serial: serial('01'), notAfter: soon(), discoveredAt: soon(-1) },
      ...each,
    })),
  );
const statuses = async (...checked: readonly Partial<CheckedIssuance>[]) =>
  (await facts(...checked)).map(({ status }) => status);

const unknown = { status: 'unknown', revokedAt: null, reason: null, checkedAt: null };

describe('the facts about certificates', () => {
  it('are returned for a whole page, in its order', async () => {
    const crl = await named('http://a/1.crl');
    await apply(crl, [revoked('01', 1), revoked('ff02', 0)]);
    const [first, ...rest] = await facts(
      { crl },
      { crl, serial: serial('03') },
      { crl, serial: serial('ff02') },
    );
    expect(first).toEqual({
      status: 'revoked',
      revokedAt: new Date('2026-01-01T00:00:00Z'),
      reason: 1,
      checkedAt: expect.any(Date) as Date,
    });
    expect(rest).toMatchObject([
      { status: 'good', revokedAt: null, reason: null, checkedAt: expect.any(Date) as Date },
      { status: 'revoked', reason: 0 },
    ]);
    expect(await facts()).toEqual([]);
  });

  it('are unknown for an expired certificate, and for one without serial number or list', async () => {
    const crl = await named('http://a/1.crl');
    await apply(crl, [revoked('01')]);
    const never = await named('http://a/2.crl');
    expect(
      await facts(
        { crl, notAfter: soon(-1) },
        { crl, serial: serial('') },
        { serial: serial('02') },
        { crl: never, serial: serial('02') },
      ),
    ).toEqual([unknown, unknown, unknown, unknown]);
  });

  it('are unknown when the list was read before the certificate was discovered, unless it is on the list', async () => {
    const crl = await named('http://a/1.crl');
    await apply(crl, [revoked('01')]);
    const later = { crl, discoveredAt: new Date(Date.now() + 60_000) };
    expect(await statuses({ ...later, serial: serial('02') }, later)).toEqual(['unknown', 'revoked']);
    expect(await facts({ ...later, serial: serial('02') })).toEqual([unknown]);
  });

  it('use the time when the list was requested, not when it was applied', async () => {
    const crl = await named('http://a/1.crl');
    const requestedAt = new Date(Date.now() - 60_000);
    await crls.apply({ id: crl, lease: await holderOf(crl), requestedAt }, list([]), 1_000, never);
    const discovered = (ms: number) => ({ crl, discoveredAt: new Date(requestedAt.getTime() + ms) });
    expect(await statuses(discovered(-1), discovered(0), discovered(1))).toEqual([
      'good',
      'unknown',
      'unknown',
    ]);
    await crls.unchanged({ id: crl, lease: await holderOf(crl), requestedAt: new Date() }, 1_000);
    expect(await statuses(discovered(1))).toEqual(['good']);
  });

  it('are unknown once the list is out of date, revoked or not', async () => {
    const crl = await named('http://a/1.crl');
    await apply(crl, [revoked('01')], { freshUntil: soon(-1) });
    expect(await facts({ crl }, { crl, serial: serial('02') })).toEqual([unknown, unknown]);
  });

  it('do not come from the list of another issuer, even if a certificate names it', async () => {
    const other = await anIssuer();
    const crl = await named('http://a/1.crl', other);
    await apply(crl, [revoked('01')]);
    expect(await statuses({ crl }, { issuer: other, crl })).toEqual(['unknown', 'revoked']);
  });

  it('are unknown outside the scope of a list, unless the certificate is on it', async () => {
    const crl = await named('http://a/1.crl');
    await apply(crl, [revoked('01')], { covers: () => false });
    expect(await statuses({ crl }, { crl, serial: serial('02') })).toEqual(['revoked', 'unknown']);
  });

  it('come from the lists that the issuer has disclosed, when all of them are fresh', async () => {
    const spki = randomBytes(32);
    issuer = await anIssuer(spki);
    await ct.database.query(
      `INSERT INTO ct_issuer_profile (spki_sha256, partitioned_crls, as_of, source) VALUES ($1, $2, now(), 'spec')`,
      [spki, ['http://a/1.crl', 'https://A:443/2.crl']],
    );
    await crls.disclose();
    const rows = await ct.database.query<{ id: number; host: string }[]>(
      `SELECT id, host FROM ct_crl ORDER BY url`,
    );
    expect(rows.map(({ host }) => host)).toEqual(['a', 'a:443']);
    const [first, second] = rows.map(({ id }) => id);
    await apply(first ?? 0, [revoked('01')]);
    expect(await statuses({}, { serial: serial('02') })).toEqual(['revoked', 'unknown']);
    await apply(second ?? 0, []);
    expect(await statuses({}, { serial: serial('02') })).toEqual(['revoked', 'good']);
    // A full list alone is sufficient; and one that is no longer disclosed covers nothing.
    await ct.database.query(
      `UPDATE ct_issuer_profile SET full_crls = '{http://a/all.crl}', partitioned_crls = '{}'`,
    );
    await crls.disclose();
    expect(await statuses({ serial: serial('02') })).toEqual(['unknown']);
    const [full] = await ct.database.query<[{ id: number }]>(`SELECT id FROM ct_crl WHERE role = 'full'`);
    await apply(full.id, []);
    expect(await statuses({ serial: serial('02') })).toEqual(['good']);
  });
});

it('come from disclosed lists when the list of the certificate is unavailable', async () => {
  const dead = await named('http://a/dead.crl');
  const [{ id: full }] = await ct.database.query<[{ id: number }]>(
    `INSERT INTO ct_crl (issuer, url, host, role) VALUES ($1, 'http://a/full.crl', 'a', 'full') RETURNING id`,
    [issuer],
  );
  expect(await statuses({ crl: dead })).toEqual(['unknown']);
  await apply(full, [revoked('01')]);
  const other = await anIssuer();
  expect(
    await statuses({ crl: dead }, { crl: dead, serial: serial('02') }, {}, { crl: dead, issuer: other }),
  ).toEqual(['revoked', 'good', 'revoked', 'unknown']);
});

it('lists of several hosts are applied at the same time with two connections', async () => {
  const connection = { url: ct.url, applicationName: 'spec', poolSize: 2, statementTimeoutMs: 30_000 };
  const few = await ctDataSource(connection).initialize();
  const withFew = new CtCrls(few);
  const ids = await Promise.all(['a', 'b', 'c'].map(async (host) => await named(`http://${host}/1.crl`)));
  const applied = ids.map(async (id) => {
    const due = { id, lease: await holderOf(id), requestedAt: new Date() };
    return await withFew.apply(due, list([revoked('01')]), 1_000, never);
  });
  expect((await Promise.all(applied)).map(({ outcome }) => outcome)).toEqual(ids.map(() => 'applied'));
  await few.destroy();
});

describe('a newer list', () => {
  it('adds, removes and changes only what differs', async () => {
    const crl = await named('http://a/1.crl');
    const other = await named('http://a/2.crl');
    await apply(other, [revoked('01'), revoked('09')]);
    const entries = Array.from({ length: 25_000 }, (_, nth) => revoked((0x100000 + nth).toString(16)));
    expect(await apply(crl, entries)).toEqual({
      outcome: 'applied',
      entries: 25_000,
      added: 25_000,
      removed: 0,
    });
    const next = [...entries.slice(10), revoked('100015', 4), revoked('02', 6), revoked('02', 6)];
    expect(await apply(crl, next.slice(1))).toMatchObject({
      outcome: 'applied',
      entries: 24_990,
      removed: 11,
    });
    const xmin = async () =>
      await ct.database.query(`SELECT serial, xmin::text FROM ct_revocation ORDER BY serial, crl`);
    const before = await xmin();
    expect(await apply(crl, next.slice(1))).toMatchObject({ outcome: 'applied', added: 0, removed: 0 });
    expect(await xmin()).toEqual(before);
    expect(await statuses({ crl, serial: serial('09') }, { crl, serial: serial('02') })).toEqual([
      'revoked',
      'revoked',
    ]);
    // A certificate hold that has ended.
    await apply(crl, entries);
    expect(await statuses({ crl, serial: serial('02') })).toEqual(['good']);
  });

  it('corrects the time and reason of a revocation', async () => {
    const crl = await named('http://a/1.crl');
    await apply(crl, [revoked('01', 0, '2026-01-05T00:00:00Z')]);
    await apply(crl, [revoked('01', 0, '2026-01-03T00:00:00Z')]);
    expect(await facts({ crl })).toMatchObject([{ revokedAt: new Date('2026-01-03T00:00:00Z'), reason: 0 }]);
    await apply(crl, [revoked('01', 1, '2026-01-03T00:00:00Z')]);
    expect(await facts({ crl })).toMatchObject([{ revokedAt: new Date('2026-01-03T00:00:00Z'), reason: 1 }]);
  });

  it('counts the first of two revocations of one certificate', async () => {
    const crl = await named('http://a/1.crl');
    await apply(crl, [revoked('01', 4, '2026-01-05T00:00:00Z'), revoked('01', 1, '2026-01-03T00:00:00Z')]);
    expect(await facts({ crl })).toMatchObject([{ revokedAt: new Date('2026-01-03T00:00:00Z'), reason: 1 }]);
  });

  it('is rejected when its time or number is older; an unchanged list is confirmed', async () => {
    const crl = await named('http://a/1.crl');
    const present = { contentSha256: randomBytes(32), number: '18446744073709551617' };
    await apply(crl, [revoked('01')], present);
    expect(await apply(crl, [], { thisUpdate: new Date('2026-01-31T00:00:00Z') })).toEqual({
      outcome: 'older',
    });
    expect(await apply(crl, [], { number: '18446744073709551616' })).toEqual({ outcome: 'older' });
    const [before] = await facts({ crl });
    expect(before?.status).toBe('revoked');
    expect(await apply(crl, [], present)).toEqual({ outcome: 'same' });
    const [after] = await facts({ crl });
    expect(after?.checkedAt?.getTime()).toBeGreaterThan(before?.checkedAt?.getTime() ?? Infinity);
  });

  it('of a CA that restarts its numbers is accepted once the known list is out of date', async () => {
    const crl = await named('http://a/1.crl');
    await apply(crl, [], { number: '100', freshUntil: soon(-1) });
    expect(await apply(crl, [revoked('01')], { number: '1' })).toMatchObject({ outcome: 'applied' });
  });

  it('is applied completely or not at all', async () => {
    const crl = await named('http://a/1.crl');
    await apply(crl, [revoked('01')]);
    const failing = function* () {
      yield [revoked('100000')];
      throw new Error('cut off');
    };
    await expect(apply(crl, failing())).rejects.toThrow('cut off');
    expect(await statuses({ crl }, { crl, serial: serial('100000') })).toEqual(['revoked', 'good']);
  });

  it('of a process whose lease expired changes nothing', async () => {
    const crl = await named('http://a/1.crl');
    await apply(crl, [revoked('01')], { number: '1' });
    const sleeper = await holderOf(crl);
    await takeOver(crl);
    await apply(crl, [revoked('02')], { number: '3' });
    const before = await ct.database.query(`SELECT * FROM ct_crl`);
    const late = { id: crl, lease: sleeper, requestedAt: new Date() } as Parameters<CtCrls['failed']>[0];
    await expect(crls.apply(late, list([revoked('03')], { number: '4' }), 1, never)).rejects.toThrow(
      LeaseLost,
    );
    await expect(crls.failed(late, 'gone', 1)).rejects.toThrow(LeaseLost);
    await expect(crls.unchanged(late, 1)).rejects.toThrow(LeaseLost);
    expect(await ct.database.query(`SELECT * FROM ct_crl`)).toEqual(before);
    expect(await statuses({ crl, serial: serial('02') }, { crl, serial: serial('03') })).toEqual([
      'revoked',
      'good',
    ]);
  });

  it('that is interrupted is completed later, also by the previous list', async () => {
    const crl = await named('http://a/1.crl');
    const before = { contentSha256: randomBytes(32) };
    await apply(crl, [revoked('01')], before);
    // From now on the planner estimates one row per page for the table.
    await ct.database.query('ANALYZE ct_revocation');
    const entries = Array.from({ length: 50_000 }, (_, nth) => revoked((0x100000 + nth).toString(16)));
    let steps = 0;
    const signal = Object.assign(new AbortController().signal, {
      // Five chunks are staged, and two batches of changes are written.
      throwIfAborted: () => {
        if ((steps += 1) > 7) throw new Error('the process stops');
      },
    });
    const applying = { crl, lease: await holderOf(crl), requestedAt: new Date(), dueInMs: 1, signal };
    await expect(applyCrl(ct.database, list(entries), applying)).rejects.toThrow('the process stops');
    const half = await ct.database.query<[{ n: number }]>(`SELECT count(*)::int AS n FROM ct_revocation`);
    expect(half).toEqual([{ n: 39_999 }]);
    // The known state is neither the old list nor the new one: a server that still has the old one must not leave it so.
    expect(await apply(crl, [revoked('01')], before)).toMatchObject({ outcome: 'applied', entries: 1 });
    expect(await statuses({ crl }, { crl, serial: serial('100000') })).toEqual(['revoked', 'good']);
  });

  it('does not block certificates that name it meanwhile', async () => {
    const crl = await named('http://a/1.crl');
    let found: number | null = null;
    const entries = function* () {
      yield [revoked('02')];
      void named('http://a/1.crl', issuer, soon(300)).then((id) => (found = id));
      // Another task runs between any two chunks: the loop would be endless if it waited for the list.
      while (found === null) yield [];
    };
    expect(await apply(crl, entries())).toMatchObject({ outcome: 'applied', entries: 1 });
    expect(found).toBe(crl);
  });

  it('changes nothing when its issuer would exceed the max number of revocations', async () => {
    await apply(await named('http://a/1.crl'), [revoked('01'), revoked('02')]);
    const crl = await named('http://a/2.crl');
    const applying = { crl, lease: await holderOf(crl), requestedAt: new Date(), dueInMs: 1, signal: never };
    expect(await applyCrl(ct.database, list([revoked('03')]), applying, 2)).toEqual({ outcome: 'crowded' });
    expect(await statuses({ serial: serial('03') })).toEqual(['unknown']);
    expect(await applyCrl(ct.database, list([revoked('03')]), applying, 3)).toMatchObject({ added: 1 });
    expect(maxRevocationsPerIssuer).toBeGreaterThan(10_000_000);
  });

  it('counts, beside another list, when it is the first with a revocation of a certificate', async () => {
    const [one, two, three] = [
      await named('http://a/1.crl'),
      await named('http://a/2.crl'),
      await named('http://a/3.crl'),
    ];
    await apply(one, [revoked('01', 4, '2026-01-05T00:00:00Z')]);
    await apply(two, [revoked('01', 1, '2026-01-03T00:00:00Z')]);
    await apply(three, [revoked('01', 5, '2026-01-04T00:00:00Z')]);
    expect(await facts({ crl: one })).toMatchObject([
      { revokedAt: new Date('2026-01-03T00:00:00Z'), reason: 1 },
    ]);
    await ct.database.query(`UPDATE ct_crl SET fresh_until = now() - interval '1 s' WHERE id = $1`, [two]);
    expect(await facts({ crl: one })).toMatchObject([
      { revokedAt: new Date('2026-01-04T00:00:00Z'), reason: 5 },
    ]);
  });

  it('may have no end of validity, and revocations at the end of time', async () => {
    const crl = await named('http://a/1.crl');
    const end = new Date('9999-12-31T23:59:59Z');
    await apply(crl, [{ ...revoked('01'), revokedAt: end.getTime() + 86_400_000 }], {
      thisUpdate: new Date(Date.UTC(0, 0, 1) - 1_900 * 366 * day),
      nextUpdate: new Date(end.getTime() + day),
      freshUntil: end,
    });
    const [first] = await facts({ crl });
    expect(first?.revokedAt?.toISOString()).toBe('9999-12-31T00:00:00.000Z');
  });
});

describe('lists', () => {
  it('are unique per issuer and URL, up to the limit per issuer', async () => {
    const ids = new CrlIds();
    const ensure = async (url: string, of = issuer) =>
      (await ids.ensure(ct.database.manager, [{ issuer: of, url, notAfter: soon() }]))[0];
    const first = await ensure('http://a/1.crl');
    expect(await named('http://a/1.crl')).toBe(first);
    expect(await ensure('http://a/1.crl', await anIssuer())).not.toBe(first);
    await ct.database.query(
      `INSERT INTO ct_crl (issuer, url, host) SELECT $1, 'http://b/' || n, 'b' FROM generate_series(2, $2::int) AS n`,
      [issuer, maxCrlsPerIssuer],
    );
    expect(await ensure('http://a/2.crl')).toBeNull();
    expect(await ensure('http://a/1.crl')).toBe(first);
  });

  it('use a limited number of hosts per issuer', async () => {
    for (let nth = 0; nth < maxHostsPerIssuer; nth += 1) await named(`http://a${nth}/1.crl`);
    await expect(named('http://b/1.crl')).rejects.toThrow('no list');
    await named('http://a3/2.crl');
    await named('http://b/1.crl', await anIssuer());
  });

  it('are needed until the last certificate that names them expires, and then deleted', async () => {
    const crl = await named('http://a/1.crl', issuer, soon(-40));
    await apply(crl, [revoked('01')]);
    await named('http://a/1.crl', issuer, soon(-100));
    expect(await crls.forget()).toBe(1);
    const left = await ct.database.query(`SELECT FROM ct_crl UNION ALL SELECT FROM ct_revocation`);
    expect(left).toEqual([]);
    const kept = await named('http://a/2.crl', issuer, soon());
    await apply(kept, [revoked('01')]);
    expect(await crls.forget()).toBe(0);
  });

  it('are not valid without their revocations when their deletion was interrupted', async () => {
    const crl = await named('http://a/1.crl', issuer, soon(-40));
    const contents = { contentSha256: randomBytes(32), etag: '"1"' };
    await apply(crl, [revoked('01')], contents);
    const killed = new CtCrls({
      query: async (...statement: Parameters<typeof ct.database.query>) =>
        await ct.database.query(...statement),
      transaction: async () => await Promise.reject(new Error('killed')),
    } as unknown as typeof ct.database);
    await expect(killed.forget()).rejects.toThrow('killed');
    await named('http://a/1.crl');
    expect(await statuses({ crl }, { crl, serial: serial('02') })).toEqual(['unknown', 'unknown']);
    expect(await crls.due(await holderOf(crl))).toMatchObject({ etag: null, freshUntil: null });
    await apply(crl, [revoked('01')], contents);
    expect(await statuses({ crl }, { crl, serial: serial('02') })).toEqual(['revoked', 'good']);
  });
});

describe('a host', () => {
  it('has one leaseholder at a time; the host with the list that has been due longest comes first', async () => {
    await named('http://a/1.crl');
    await named('http://a/2.crl');
    await ct.database.query(
      `UPDATE ct_crl SET due_at = due_at - interval '1 hour' WHERE url = 'http://a/2.crl'`,
    );
    const hosts = new CrlHosts(ct.database);
    await hosts.discover();
    const leases = await Promise.all([0, 1, 2].map(async () => await hosts.lease(60_000)));
    const held = leases.filter((lease) => lease !== null);
    expect(held).toMatchObject([{ host: 'a', failures: 0 }]);
    const [lease] = held;
    if (lease === undefined) throw new Error('no lease');
    const due = await crls.due(lease);
    expect(due?.url).toBe('http://a/2.crl');
    if (due === null) return;
    await crls.failed(due, 'gone', 60_000);
    expect(await crls.due(lease)).toMatchObject({ url: 'http://a/1.crl' });
    await hosts.release(lease, 0, 1);
    await expect(hosts.lengthen(lease, 1_000)).rejects.toThrow(LeaseLost);
    expect(await hosts.lease(1)).toMatchObject({ failures: 1 });
  });

  it('with a successful fetch comes before failed ones', async () => {
    for (const host of ['a', 'b', 'c']) await named(`http://${host}/1.crl`);
    const hosts = new CrlHosts(ct.database);
    await hosts.discover();
    await ct.database.query(
      `UPDATE ct_crl_host SET failures = 3, rests_until = now() - interval '1 day' WHERE host <> 'b'`,
    );
    expect(await hosts.lease(60_000)).toMatchObject({ host: 'b' });
    expect(await hosts.lease(60_000)).toMatchObject({ failures: 3 });
  });

  it('requests accepted lists first, despite any number of made-up ones', async () => {
    const known = await named('http://a/known.crl');
    await apply(known, []);
    for (let nth = 0; nth < 5; nth += 1) await named(`http://a/${nth}.crl`);
    await ct.database.query(
      `UPDATE ct_crl SET due_at = now() - CASE id WHEN $1 THEN 1 ELSE 9 END * interval '1 s'`,
      [known],
    );
    expect(await crls.due(await holderOf(known))).toMatchObject({ id: known });
  });

  it('is another one with https than with http', async () => {
    for (const url of ['http://a/', 'https://a/', 'https://a:443/1', 'http://A:80/2', 'https://a:80/'])
      await named(url);
    const rows = await ct.database.query<{ host: string }[]>(`SELECT host FROM ct_crl ORDER BY id`);
    expect(rows.map(({ host }) => host)).toEqual(['a', 'a:443', 'a:443', 'a', 'a:80']);
  });

  it('receives no request for lists that are not needed, or whose signer is unknown', async () => {
    await named('http://a/1.crl', issuer, soon(-40));
    await named('http://b/1.crl');
    await ct.database.query(`UPDATE ct_issuer SET spki_der = NULL`);
    const hosts = new CrlHosts(ct.database);
    await hosts.discover();
    expect(await hosts.lease(1_000)).toBeNull();
    expect(await crls.counts()).toMatchObject({ wanted: 0 });
  });
});
