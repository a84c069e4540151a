import { type IncomingHttpHeaders, type RequestListener, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { FailingDatabase } from '@certwright/core-testing';
import { coverageIn, CrlIds } from '@certwright/ct-index';
import { CrlHosts } from './store/crl-hosts';
import { CtCrls } from './store/ct-crls';
import { AddressGuard } from '@certwright/outbound';
import { MemoryBudget } from '../memory/memory-budget';
import { IngestFixture } from '../testing/ingest-fixture';
import { CrlTurn, type CrlTurnOptions } from './crl-turn';
import { CrlMaker } from './testing/crl-maker';

jest.setTimeout(60_000);

let ingest: IngestFixture;
let crls: CtCrls;
let hosts: CrlHosts;
let origin: string;
let respond: RequestListener = () => undefined;
const requests: { readonly url: string | undefined; readonly headers: IncomingHttpHeaders }[] = [];
const reported: string[] = [];
const maker = new CrlMaker('Spec CA');
const other = new CrlMaker('Other CA');
let issuer: number;

const server = createServer((request, response) => {
  requests.push({ url: request.url, headers: request.headers });
  respond(request, response);
});

beforeAll(async () => {
  ingest = await IngestFixture.open();
  [crls, hosts] = [new CtCrls(ingest.asIngest), new CrlHosts(ingest.asIngest)];
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await ingest.close();
});
beforeEach(async () => {
  requests.length = reported.length = 0;
  await ingest.database.query(`TRUNCATE ct_crl, ct_crl_host, ct_revocation, ct_issuer`);
  issuer = await known(maker);
});

async function known({ nameDer, spkiDer, spkiSha256 }: CrlMaker): Promise<number> {
  const [{ id }] = await ingest.database.query<[{ id: number }]>(
    `INSERT INTO ct_issuer (spki_sha256, name_sha256, name_der, spki_der) VALUES ($1, $2, $3, $4) RETURNING id`,
    [spkiSha256, spkiSha256, nameDer, spkiDer],
  );
  return id;
}

async function named(path: string, of = issuer): Promise<number> {
  const url = path.startsWith('/') ? `${origin}${path}` : path;
  const notAfter = new Date(Date.now() + 9e9);
  const [id] = await new CrlIds().ensure(ingest.asIngest.manager, [{ issuer: of, url, notAfter }]);
  return id ?? 0;
}

function turnWith(change: Partial<CrlTurnOptions> = {}): CrlTurn {
  return new CrlTurn({
    crls,
    hosts,
    fetching: {
      guard: new AddressGuard({ allowedNetworks: ['127.0.0.1/32'] }),
      userAgent: 'spec',
      timeoutMs: 20_000,
      now: Date.now,
    },
    events: {
      applied: (_, { outcome }) => void reported.push(outcome),
      unchanged: () => void reported.push('unchanged'),
      refused: (_, problem) => void reported.push(`refused: ${problem}`),
      unavailable: (_, problem) => void reported.push(`unavailable: ${problem}`),
      failed: (_, error) => void reported.push(`failed: ${String(error)}`),
    },
    memory: new MemoryBudget(64 * 1_048_576),
    maxBytes: 8 * 1_048_576,
    intervals: { minMs: 60_000, maxMs: 3_600_000 },
    graceMs: 3_600_000,
    leaseMs: 30_000,
    turnMs: 60_000,
    gapMs: 0,
    now: Date.now,
    random: () => 0,
    ...change,
  });
}

/** Fetches all due lists. @returns the reported events */
async function round(change: Partial<CrlTurnOptions> = {}): Promise<readonly string[]> {
  await ingest.database.query(`UPDATE ct_crl SET due_at = now() - interval '1 second'`);
  await ingest.database.query(`UPDATE ct_crl_host SET rests_until = now() - interval '1 second'`);
  await hosts.discover();
  reported.length = 0;
  const turn = turnWith(change);
  for (let lease = await hosts.lease(30_000); lease !== null; lease = await hosts.lease(30_000))
    await turn.run(lease, new AbortController().signal);
  return [...reported];
}

async function statuses(crl: number, ...serials: readonly string[]): Promise<string[]> {
  const { manager } = ingest.database;
  const rows = await manager.query<{ serial: string }[]>(
    `SELECT encode(serial, 'hex') AS serial FROM ct_revocation JOIN ct_crl ON ct_crl.id = crl
     WHERE ct_revocation.issuer = $1 AND fresh_until > now()`,
    [issuer],
  );
  const revoked = new Set(rows.map(({ serial }) => serial));
  const [checkedAt] = await coverageIn(manager)([{ issuer, crl }]);
  return serials.map((each) => (revoked.has(each) ? 'revoked' : checkedAt ? 'good' : 'unknown'));
}

const send = (body: Buffer, headers: Record<string, string> = {}) => {
  respond = (_, response: ServerResponse) => response.writeHead(200, headers).end(body);
};

async function dueIn(): Promise<number> {
  const [{ s }] = await ingest.database.query<[{ s: number }]>(
    `SELECT extract(epoch FROM due_at - now())::float8 AS s FROM ct_crl`,
  );
  return s;
}

describe('a list', () => {
  it('is fetched, verified and applied, and then requested conditionally', async () => {
    const crl = await named('/1.crl');
    const list = maker.make({ revoked: { '0102': 1 }, number: 5 });
    respond = ({ headers }, response) => {
      if (headers['if-none-match'] === '"one"') response.writeHead(304).end();
      else
        response
          .writeHead(200, { etag: '"one"', 'last-modified': 'Sun, 22 Nov 2026 00:00:00 GMT' })
          .end(list);
    };
    expect(await statuses(crl, '0102')).toEqual(['unknown']);
    expect(await round()).toEqual(['applied']);
    expect(await statuses(crl, '0102', '03')).toEqual(['revoked', 'good']);
    expect(await dueIn()).toBeGreaterThan(3_000);
    expect(await round()).toEqual(['unchanged']);
    expect(requests.at(-1)?.headers).toMatchObject({
      'if-none-match': '"one"',
      'if-modified-since': 'Sun, 22 Nov 2026 00:00:00 GMT',
      'user-agent': 'spec',
    });
    expect(await statuses(crl, '0102')).toEqual(['revoked']);
    send(list);
    expect(await round()).toEqual(['same']);
  });

  it('is replaced by a newer one', async () => {
    const crl = await named('/1.crl');
    send(maker.make({ revoked: { '01': 6, '02': 1 }, number: 5 }));
    await round();
    send(maker.make({ revoked: { '02': 1, '03': 1 }, number: 6, thisUpdateIn: 0 }));
    expect(await round()).toEqual(['applied']);
    expect(await statuses(crl, '01', '02', '03')).toEqual(['good', 'revoked', 'revoked']);
  });

  it('is rejected when it is forged, of another issuer, older, out of date, of the future, a delta or for another URL', async () => {
    const crl = await named('/1.crl');
    send(maker.make({ revoked: { '01': 1 }, number: 5 }));
    await round();
    const forged = maker.make({ revoked: {}, number: 7 });
    forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
    const day = 86_400_000;
    const others: readonly (readonly [Buffer, string])[] = [
      [forged, 'The signature of the list is invalid.'],
      [new CrlMaker('Spec CA').make({ number: 7 }), 'The signature of the list is invalid.'],
      [other.make({ number: 7 }), 'The list has another issuer.'],
      [maker.make({ number: 4, thisUpdateIn: 0 }), 'The list is older than the one that is known.'],
      [maker.make({ number: 7, thisUpdateIn: -day }), 'The list is older than the one that is known.'],
      [
        maker.make({ number: 7, thisUpdateIn: -3 * day, nextUpdateIn: -day }),
        'The list is past its next update.',
      ],
      [
        maker.make({ number: 7, thisUpdateIn: -30 * day, nextUpdateIn: null }),
        'The list is past its next update.',
      ],
      [maker.make({ number: 7, thisUpdateIn: day }), 'The list is dated in the future.'],
      [maker.make({ number: 7, isDelta: true }), 'The list is a delta CRL.'],
      [maker.make({ number: 7, places: [`${origin}/2.crl`] }), 'The list is for another URL.'],
      [Buffer.from('<html>'), 'The response is not a readable revocation list (not_a_crl).'],
    ];
    for (const [body, problem] of others) {
      send(body);
      expect(await round()).toEqual([`refused: ${problem}`]);
    }
    expect(await statuses(crl, '01')).toEqual(['revoked']);
    expect(await dueIn()).toBeGreaterThan(3_500);
  });

  it('of one shard is not accepted for another one', async () => {
    const [one, two] = [await named('/1.crl'), await named('/2.crl')];
    const shards: Readonly<Record<string, Buffer>> = {
      '/1.crl': maker.make({ revoked: { '01': 1 }, places: [`${origin}/1.crl`], userCertificatesOnly: true }),
      '/2.crl': maker.make({
        revoked: { '02': 1 },
        places: ['ldap://x', `${origin.replace('http', 'https')}/2.crl`],
      }),
    };
    respond = ({ url }, response) => response.end(shards[url ?? '']);
    expect(await round()).toEqual(['applied', 'applied']);
    expect(await statuses(one, '01', '02', '03')).toEqual(['revoked', 'revoked', 'good']);
    respond = (_, response) => response.end(shards['/1.crl']);
    expect((await round()).slice().sort()).toEqual(['refused: The list is for another URL.', 'same']);
    expect(await statuses(two, '02')).toEqual(['revoked']);
  });

  it('for CA certificates only makes no subscriber certificate good', async () => {
    const crl = await named('/1.crl');
    send(maker.make({ revoked: { '01': 1 }, authoritiesOnly: true }));
    expect(await round()).toEqual(['applied']);
    expect(await statuses(crl, '01', '02')).toEqual(['revoked', 'unknown']);
  });

  it('that is packed is unpacked, up to its max size', async () => {
    await named('/1.crl');
    send(gzipSync(maker.make()), { 'content-encoding': 'gzip' });
    expect(await round()).toEqual(['applied']);
    send(gzipSync(Buffer.alloc(64 * 1_048_576)), { 'content-encoding': 'gzip' });
    expect(await round()).toEqual(['unavailable: The list unpacks to more than is read.']);
    send(Buffer.from('not packed'), { 'content-encoding': 'gzip' });
    expect(await round()).toEqual(['unavailable: The list cannot be unpacked.']);
    send(maker.make(), { 'content-encoding': 'br' });
    expect(await round()).toEqual(['unavailable: The list has a content encoding that was not requested.']);
  });

  it('that is longer than most is fetched with more memory, and an endless one is not', async () => {
    const crl = await named('/1.crl');
    const revoked = Object.fromEntries(
      Array.from({ length: 40_000 }, (_, nth) => [(0x100000 + nth).toString(16), 1]),
    );
    send(maker.make({ revoked }));
    expect(await round()).toEqual(['applied']);
    expect(requests).toHaveLength(2);
    expect(await statuses(crl, '100000', '109c3f', '109c40')).toEqual(['revoked', 'revoked', 'good']);
    // Now its approximate length is known.
    expect(await round()).toEqual(['same']);
    expect(requests).toHaveLength(3);
    respond = (_, response) => {
      const more = () => void (response.writable && response.write(Buffer.alloc(262_144), more));
      more();
    };
    expect(await round()).toEqual(['unavailable: The list is longer than 8388608 bytes.']);
  });
});

describe('a server', () => {
  it('that redirects is followed, but not to a forbidden address, nor without limit', async () => {
    const crl = await named('/1.crl');
    const list = maker.make({ revoked: { '01': 1 } });
    respond = ({ url }, response) =>
      url === '/2.crl' ? response.end(list) : response.writeHead(302, { location: '/2.crl' }).end();
    expect(await round()).toEqual(['applied']);
    expect(await statuses(crl, '01')).toEqual(['revoked']);
    for (const location of [
      'http://127.0.0.2/',
      'http://169.254.169.254/latest',
      'http://[::1]/',
      'file:///etc/passwd',
    ]) {
      respond = (_, response) => response.writeHead(302, { location }).end();
      expect(await round()).toEqual([expect.stringMatching(/^unavailable: /) as string]);
    }
    respond = (_, response) => response.writeHead(301, { location: '/again' }).end();
    expect(await round()).toEqual(['unavailable: The server redirects more than 3 times.']);
  });

  it('at a forbidden address receives no request', async () => {
    await named('http://10.1.2.3/1.crl');
    expect(await round()).toEqual([expect.stringMatching(/^unavailable: .*10\.0\.0\.0\/8/) as string]);
    expect(requests).toEqual([]);
  });

  it('that takes too long is skipped, with the rest of its lists', async () => {
    await named('/1.crl');
    await named('/2.crl');
    respond = (_, response) => void response.write('a');
    const short = { guard: new AddressGuard({ allowedNetworks: ['127.0.0.1/32'] }), userAgent: 'spec' };
    const reported = await round({ fetching: { ...short, timeoutMs: 150, now: Date.now } });
    expect(reported).toEqual([expect.stringMatching(/^unavailable: /) as string]);
    expect(requests.map(({ url }) => url)).not.toContain('/2.crl');
    const [host] = await ingest.database.query<[{ failures: number; rests: boolean }]>(
      `SELECT failures, rests_until > now() + interval '30 seconds' AS rests FROM ct_crl_host`,
    );
    expect(host).toEqual({ failures: 1, rests: true });
  });

  it('that sends Retry-After receives no request until then', async () => {
    await named('/1.crl');
    await named('/2.crl');
    respond = (_, response) => response.writeHead(503, { 'retry-after': '7200' }).end();
    expect(await round()).toEqual(['unavailable: The server returned 503.']);
    const [{ s }] = await ingest.database.query<[{ s: number }]>(
      `SELECT extract(epoch FROM rests_until - now())::float8 AS s FROM ct_crl_host`,
    );
    expect(s).toBeGreaterThan(7_000);
    respond = (_, response) => response.writeHead(404).end();
    expect(await round()).toEqual([
      'unavailable: The server returned 404.',
      'unavailable: The server returned 404.',
    ]);
  });

  it('receives one request at a time, from any number of processes', async () => {
    for (let nth = 0; nth < 6; nth += 1) await named(`/${nth}.crl`);
    let atATime = 0;
    const seen: number[] = [];
    respond = (_, response) => {
      seen.push((atATime += 1));
      setImmediate(() => {
        atATime -= 1;
        response.end(maker.make());
      });
    };
    await hosts.discover();
    const turn = turnWith();
    const work = async () => {
      const lease = await hosts.lease(30_000);
      if (lease !== null) await turn.run(lease, new AbortController().signal);
    };
    await Promise.all([work(), work(), work()]);
    expect(seen).toEqual([1, 1, 1, 1, 1, 1]);
    expect(reported).toHaveLength(6);
  });

  it('whose lease is lost, or whose process stops, is abandoned at once', async () => {
    await named('/1.crl');
    respond = () => undefined;
    await hosts.discover();
    const lease = await hosts.lease(30_000);
    if (lease === null) throw new Error('no lease');
    const stopping = new AbortController();
    const running = turnWith().run(lease, stopping.signal);
    stopping.abort(new Error('the process stops'));
    await running;
    expect(reported).toEqual([]);
    expect(await hosts.lease(1)).not.toBeNull();
  });

  it('that returned a list before it failed has failed once, not once more', async () => {
    await named('/1.crl');
    const list = maker.make();
    respond = ({ url }, response) => (url === '/1.crl' ? response.end(list) : response.writeHead(503).end());
    await round();
    await named('/2.crl');
    await ingest.database.query(`UPDATE ct_crl_host SET failures = 9`);
    expect(await round()).toEqual(['same', 'unavailable: The server returned 503.']);
    expect(await ingest.database.query(`SELECT failures FROM ct_crl_host`)).toEqual([{ failures: 1 }]);
  });

  it('that was leased to another process meanwhile is left to it', async () => {
    await named('/1.crl');
    const list = maker.make();
    respond = (_, response) =>
      void ingest.database
        .query(`UPDATE ct_crl_host SET lease_token = lease_token + 1`)
        .then(() => response.end(list));
    expect(await round()).toEqual([]);
    expect(await ingest.database.query(`SELECT failures, content_sha256 FROM ct_crl`)).toEqual([
      { failures: 0, content_sha256: null },
    ]);
  });

  it('that sends a list with an endless name is rejected before the name is processed', async () => {
    const giant = new CrlMaker('x'.repeat(3_000_000));
    await named('/1.crl');
    send(giant.make());
    expect(await round()).toEqual(['refused: The list has another issuer.']);
  });
});

it('deletes a list that is no longer needed, with its revocations', async () => {
  const crl = await named('/1.crl');
  await ingest.database.query(
    `INSERT INTO ct_revocation (issuer, serial, crl, revoked_at, reason) VALUES ($1, '\\x01', $2, now(), 0)`,
    [issuer, crl],
  );
  expect(await crls.forget()).toBe(0);
  await ingest.database.query(`UPDATE ct_crl SET needed_until = now() - interval '3 days'`);
  expect(await crls.forget()).toBe(1);
  expect(await ingest.database.query(`SELECT FROM ct_revocation`)).toEqual([]);
});

it.each(['before', 'after'] as const)(
  'applies a list completely when a process is killed %s a statement or COMMIT',
  async (when) => {
    let nth = 1;
    for (let isKilled = true; isKilled; nth += 1) {
      await ingest.database.query(`TRUNCATE ct_crl, ct_crl_host, ct_revocation, ct_issuer`);
      issuer = await known(maker);
      const crl = await named('/1.crl');
      send(maker.make({ revoked: { '0102': 1 }, number: 5 }));
      await round();
      send(maker.make({ revoked: { '0103': 1 }, number: 6 }));
      await ingest.database.query(`UPDATE ct_crl SET due_at = now() - interval '1 second'`);
      await ingest.database.query(`UPDATE ct_crl_host SET rests_until = now() - interval '1 second'`);
      const failing = new FailingDatabase(ingest.asIngest, nth, when);
      const [failingCrls, failingHosts] = [new CtCrls(failing.source), new CrlHosts(failing.source)];
      const turn = turnWith({ crls: failingCrls, hosts: failingHosts });
      try {
        const lease = await failingHosts.lease(30_000);
        if (lease !== null) await turn.run(lease, new AbortController().signal);
      } catch (error) {
        if (!failing.struck) throw error;
      }
      isKilled = failing.struck;
      // The lease ends.
      await ingest.database.query(`UPDATE ct_crl_host SET leased_until = NULL`);
      await round();
      expect({ nth, statuses: await statuses(crl, '0102', '0103') }).toEqual({
        nth,
        statuses: ['good', 'revoked'],
      });
      const [row] = await ingest.database.query<unknown[]>(
        `SELECT entries, number, failures, content_sha256 IS NOT NULL AS is_known FROM ct_crl`,
      );
      expect({ nth, row }).toEqual({ nth, row: { entries: 1, number: '6', failures: 0, is_known: true } });
    }
    expect(nth).toBeGreaterThan(12);
  },
);
