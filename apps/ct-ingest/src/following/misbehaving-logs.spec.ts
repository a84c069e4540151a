import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { leafHash } from '@certwright/ct';
import { evidenceOf } from '../logs/log-evidence';
import { pageOfAll, readingAlone } from '@certwright/ct-index';
import { removeUnverified } from '../logs/unverified';
import { restartLog, resumeLog } from '../logs/start-again';
import { FakeLog, type FakeLogKind } from '../testing/fake-log';
import { forgeMany, forgePair } from '../testing/forged-entries';
import { served } from '../testing/forged-tree';
import { IngestFixture } from '../testing/ingest-fixture';

jest.setTimeout(60_000);

const logs: FakeLog[] = [];
let ingest: IngestFixture;
beforeAll(async () => void (ingest = await IngestFixture.open()));
afterAll(async () => await ingest.close());
afterEach(async () => {
  await Promise.all(logs.splice(0).map(async (log) => await log.close()));
  jest.restoreAllMocks();
  await ingest.empty();
});

async function opened(kind: FakeLogKind, entries: number): Promise<FakeLog> {
  const log = await FakeLog.open(kind, forgeMany(entries));
  logs.push(log);
  await ingest.keep(...logs);
  return log;
}

const kinds = ['rfc6962', 'static'] as const;
const isEntries = (path: string) => path.includes('get-entries') || path.includes('/tile/data');
const faults = () => ingest.stopped.map(({ kind }) => kind);

describe.each(kinds)('a log with the interface %s is stopped', (kind) => {
  let log: FakeLog;
  beforeEach(async () => {
    log = await opened(kind, 300);
    await ingest.turn(ingest.follower());
  });
  const stopped = async (fault: string) => {
    expect(faults()).toEqual([fault]);
    const { stoppedReason, position } = await ingest.log();
    expect({ stoppedReason, position }).toEqual({
      stoppedReason: expect.stringMatching(`^${fault}: `),
      position: '300',
    });
    expect(await ingest.logs.lease(1_000)).toBeNull();
  };

  it('when it signs a newer head with fewer entries', async () => {
    log.head = log.headAt(200, log.head.timestamp + 1);
    await ingest.turn(ingest.follower());
    await stopped('rollback');
  });

  it('when it keeps returning an older head for the whole time limit, and not earlier', async () => {
    log.head = log.headAt(200, log.head.timestamp - 1);
    const follower = ingest.follower({ stalePatienceMs: 1 });
    const waiting = { stoppedAt: null, failures: 0, headSize: '300' };
    expect(await ingest.turn(follower)).toMatchObject(waiting);
    await ingest.turn(follower);
    await stopped('rollback');
    // The operator who resumed it has seen that, so the time limit restarts.
    await resumeLog(ingest.database, (await ingest.log()).id);
    expect(await ingest.turn(follower)).toMatchObject(waiting);
  });

  it('when it signs two roots for one size', async () => {
    log.head = { ...log.headAt(300, log.head.timestamp + 1), rootHash: Buffer.alloc(32, 1) };
    await ingest.turn(ingest.follower());
    await stopped('fork');
  });

  it('when its earlier entries have changed, even if there are more of them', async () => {
    log.replace(forgeMany(400, 1_000).map((each, at) => served(each, at, kind === 'static')));
    await ingest.turn(ingest.follower());
    await stopped('fork');
  });

  it('when it signs two histories, and the smaller head proves it', async () => {
    const { headSigned: keptSigned } = await ingest.log();
    const other = { ...log.headAt(201, log.head.timestamp - 1), rootHash: Buffer.alloc(32, 1) };
    log.head = other;
    await ingest.turn(ingest.follower());
    await stopped('fork');
    expect(await evidenceOf(ingest.database)).toMatchObject([
      {
        kind: 'fork',
        url: log.url,
        headSize: '201',
        headRoot: other.rootHash,
        keptSigned,
        headSigned: expect.any(Buffer) as Buffer,
        computedRoot: null,
        proof: expect.arrayContaining([expect.any(Buffer)]) as Buffer[],
      },
    ]);
  });

  it('when it has no proof for a smaller head, as the proof of 256 entries assumes their root', async () => {
    log.head = { ...log.headAt(256, log.head.timestamp - 1), rootHash: Buffer.alloc(32, 1) };
    const follower = ingest.follower();
    for (const failures of [1, 2])
      expect(await ingest.turn(follower)).toMatchObject({ failures, stoppedAt: null });
    await ingest.turn(follower);
    await stopped('fork');
    expect((await evidenceOf(ingest.database)).map(({ kind }) => kind)).toEqual(['unproven', 'fork']);
  });

  it('when its entries do not hash to the signed root', async () => {
    const more = forgeMany(350, 0).map((each, at) => served(each, at, kind === 'static'));
    const other = served(forgePair(9_999).certificate, 320, kind === 'static');
    const leaves = more.map(({ leaf }) => leafHash(leaf));
    log.replace(more.with(320, other), leaves);
    const follower = ingest.follower();
    for (const failures of [1, 2])
      expect(await ingest.turn(follower)).toMatchObject({ failures, stoppedAt: null });
    await ingest.turn(follower);
    await stopped('root');
  });

  it('and continues from its position when an operator resumes it after it is fixed', async () => {
    const { head } = log;
    log.head = { ...head, rootHash: Buffer.alloc(32, 1) };
    await ingest.turn(ingest.follower());
    await stopped('fork');
    log.add(forgeMany(10, 150));
    log.requests.length = 0;
    await resumeLog(ingest.database, (await ingest.log()).id);
    expect(await ingest.turn(ingest.follower())).toMatchObject({ startIndex: '0', verifiedSize: '310' });
    expect(log.requests.some((path) => path.includes('tile/data/000') || path.includes('start=0'))).toBe(
      false,
    );
    expect(await evidenceOf(ingest.database)).toMatchObject([{ kind: 'fork', headSize: '300' }]);
  });

  it.each([
    [100, 'beginning', 250],
    [0, 'now', 250],
    [1_000, 'beginning', 150],
  ])(
    'and restarts at %i when an operator requests it, with another history',
    async (from, start, issuances) => {
      log.replace(forgeMany(400, 50).map((each, at) => served(each, at, kind === 'static')));
      await ingest.turn(ingest.follower());
      await stopped('fork');
      await restartLog(ingest.database, (await ingest.log()).id, BigInt(from));
      const begun = { startIndex: String(Math.min(from, 400)), position: '400', verifiedSize: '400' };
      expect(await ingest.turn(ingest.follower({ start }))).toMatchObject({ ...begun, stoppedAt: null });
      // Earlier issuances stay, and those that are read again are recognised.
      expect(await ingest.rows('ct_issuance')).toBe(issuances);
    },
  );
});

describe.each(kinds)('a log with the interface %s is not stopped, but tried again,', (kind) => {
  let log: FakeLog;
  beforeEach(async () => {
    log = await opened(kind, 300);
    await ingest.turn(ingest.follower());
  });
  const goesOn = async () => {
    log.intercept = () => false;
    log.head = log.headAt(300);
    log.add(forgeMany(10, 150));
    expect(await ingest.turn(ingest.follower())).toMatchObject({ verifiedSize: '310', failures: 0 });
  };
  const isHead = (path: string) => path.includes('get-sth') || path.includes('checkpoint');

  it('when its head has an invalid signature', async () => {
    const { signingKey } = log;
    log.forgetKey();
    const follower = ingest.follower();
    for (const failures of [1, 2, 3, 4])
      expect(await ingest.turn(follower)).toMatchObject({ failures, stoppedAt: null, position: '300' });
    log.signingKey = signingKey;
    await goesOn();
  });

  it.each<[string, (head: Buffer) => Buffer]>([
    ['cut off', (head) => head.subarray(0, head.length - 20)],
    ['with bytes changed', (head) => Buffer.from(head.toString('latin1').replace(/3/g, '4'), 'latin1')],
    ['with zeros behind it', (head) => Buffer.concat([head, Buffer.alloc(50)])],
    [
      'of another log',
      (head) =>
        Buffer.from(
          head.toString('utf8').replaceAll('127.0.0.1', '127.0.0.2').replace('"timestamp":', '$&1'),
        ),
    ],
    ['without signatures', (head) => Buffer.from(head.toString('utf8').replace(/tree_head_sig|— .*/, ''))],
    ['random', () => Buffer.from('\ufffdX~\n\n\u2014 x y\n')],
  ])('when its head is %s', async (_, garbled) => {
    const before = await (
      await fetch(`${log.url}${kind === 'static' ? 'checkpoint' : 'ct/v1/get-sth'}`)
    ).text();
    log.intercept = (path, response) => {
      if (!isHead(path)) return false;
      response.end(garbled(Buffer.from(before)));
      return true;
    };
    const follower = ingest.follower();
    for (const failures of [1, 2, 3])
      expect(await ingest.turn(follower)).toMatchObject({ failures, stoppedAt: null });
    await goesOn();
  });

  it.each([8_640_000_000_000_001, Number.MAX_SAFE_INTEGER])(
    'when its head is signed with a time that no date has: %i',
    async (timestamp) => {
      log.head = log.headAt(300, timestamp);
      expect(await ingest.turn(ingest.follower())).toMatchObject({ failures: 1, headSize: '300' });
      expect(ingest.unavailable).toHaveLength(1);
      await goesOn();
    },
  );

  it('when it returns an invalid proof, and the head is proved later', async () => {
    const isProof = (path: string) => path.includes('consistency') || /^\/tile\/[0-9]/.test(path);
    log.intercept = async (path, response) => {
      if (!isProof(path)) return false;
      const real = Buffer.from(
        await (await fetch(`${log.url}${path.slice(1)}`, { headers: own })).arrayBuffer(),
      );
      const { consistency } =
        kind === 'static' ? { consistency: [] } : (JSON.parse(real.toString()) as Proof);
      const none = consistency.map(() => Buffer.alloc(32, 9).toString('base64'));
      response.end(kind === 'static' ? Buffer.alloc(real.length, 9) : JSON.stringify({ consistency: none }));
      return true;
    };
    const intercept = log.intercept;
    log.intercept = (path, response, request) =>
      request.headers['user-agent'] === 'own' ? false : intercept(path, response, request);
    const kept = log.head;
    log.head = log.headAt(201, kept.timestamp - 1);
    expect(await ingest.turn(ingest.follower())).toMatchObject({ failures: 1, stoppedAt: null });
    expect(await evidenceOf(ingest.database)).toMatchObject([{ kind: 'unproven', headSize: '201' }]);
    expect(ingest.unproven).toHaveLength(1);
    log.head = kept;
    await ingest.database.query(`UPDATE ct_log_evidence SET tried_at = now() - interval '2 minutes'`);
    log.intercept = () => false;
    expect(await ingest.turn(ingest.follower())).toMatchObject({ failures: 0, stoppedAt: null });
    expect(await evidenceOf(ingest.database)).toEqual([]);
    await goesOn();
  });

  /** Fifty more entries, one of which is served with other bytes than those signed. @returns the signed entries */
  function addWithWrongBytes(): FakeLog['entries'] {
    log.add(forgeMany(50, 150));
    const { entries } = log;
    const other = served(forgePair(9_999).certificate, 320, kind === 'static');
    log.replace(
      entries.with(320, other),
      entries.map(({ leaf }) => leafHash(leaf)),
    );
    return entries;
  }

  it('when it serves wrong bytes of an entry for a while', async () => {
    const signed = addWithWrongBytes();
    const follower = ingest.follower();
    for (const failures of [1, 2])
      expect(await ingest.turn(follower)).toMatchObject({ failures, stoppedAt: null, position: '300' });
    expect(ingest.unavailable.map(({ message }) => message)).toEqual([
      'The entries of the log do not hash to its root of 350 entries.',
      'The entries of the log do not hash to its root of 350 entries.',
    ]);
    log.replace(signed);
    expect(await ingest.turn(follower)).toMatchObject({ verifiedSize: '350', failures: 0 });
    expect(await evidenceOf(ingest.database)).toEqual([]);
  });

  it('when it serves wrong bytes after an outage', async () => {
    const follower = ingest.follower();
    log.intercept = (_, response) => {
      response.writeHead(500).end();
      return true;
    };
    for (const failures of [1, 2, 3]) expect(await ingest.turn(follower)).toMatchObject({ failures });
    log.intercept = () => false;
    addWithWrongBytes();
    for (const failures of [4, 5])
      expect(await ingest.turn(follower)).toMatchObject({ failures, stoppedAt: null });
    await ingest.turn(follower);
    expect(faults()).toEqual(['root']);
  });

  it('when it does not prove a head; it is stopped once the head turns out to be of another history', async () => {
    const kept = log.head;
    log.head = { ...log.headAt(201, kept.timestamp - 1), rootHash: Buffer.alloc(32, 1) };
    const isProof = (path: string) => path.includes('consistency') || /^\/tile\/[0-9]/.test(path);
    log.intercept = (path, response) => {
      if (isProof(path)) response.writeHead(500).end();
      return isProof(path);
    };
    expect(await ingest.turn(ingest.follower())).toMatchObject({ failures: 1, stoppedAt: null });
    log.intercept = () => false;
    await ingest.turn(ingest.follower());
    expect(faults()).toEqual(['fork']);
  });
});

it.each(kinds)(
  'a log with the interface %s is stopped once for a head that is proved to be of another history, and can be resumed',
  async (kind) => {
    const log = await opened(kind, 300);
    const follower = ingest.follower();
    await ingest.turn(follower);
    log.head = { ...log.headAt(201, log.head.timestamp - 1), rootHash: Buffer.alloc(32, 1) };
    const isProof = (path: string) => path.includes('consistency') || /^\/tile\/[0-9]/.test(path);
    log.intercept = (path, response) => {
      if (!isProof(path)) return false;
      const consistency = Array.from({ length: 5 }, () => Buffer.alloc(32, 9).toString('base64'));
      response.end(kind === 'static' ? Buffer.alloc(8_192, 9) : JSON.stringify({ consistency }));
      return true;
    };
    await ingest.turn(follower);
    expect(await evidenceOf(ingest.database)).toMatchObject([{ kind: 'unproven', headSize: '201' }]);
    log.intercept = () => false;
    log.head = log.headAt(300);
    log.add(forgeMany(10, 150));
    const triedLongAgo = async () =>
      await ingest.database.query(`UPDATE ct_log_evidence SET tried_at = now() - interval '2 minutes'`);
    await triedLongAgo();
    await ingest.turn(follower);
    expect(faults()).toEqual(['fork']);
    await triedLongAgo();
    await resumeLog(ingest.database, (await ingest.log()).id);
    expect(await ingest.turn(follower)).toMatchObject({ verifiedSize: '310', failures: 0, stoppedAt: null });
    expect(await evidenceOf(ingest.database)).toMatchObject([{ kind: 'fork', headSize: '201' }]);
  },
);

const own = { 'user-agent': 'own' };
interface Proof {
  readonly consistency: readonly string[];
}

describe.each(kinds)('of a log with the interface %s whose entries do not hash to its root', (kind) => {
  const size = 5_000;
  /** Signs the usual history, and serves a different entry in it. */
  async function openedWithout(index: number): Promise<FakeLog> {
    const log = await opened(kind, size);
    const leaves = log.entries.map(({ leaf }) => leafHash(leaf));
    const other = served(forgePair(99_999).certificate, index, kind === 'static');
    log.replace(log.entries.with(index, other), leaves);
    return log;
  }

  it('unsigned entries are not found, and signed ones stay', async () => {
    await openedWithout(4_500);
    const follower = ingest.follower();
    for (let turn = 0; turn < 3; turn += 1)
      expect(await ingest.turn(follower)).toMatchObject({ position: '4096', verifiedSize: '4096' });
    expect(faults()).toEqual(['root']);
    expect(await ingest.rows('ct_issuance')).toBe(2_048);
    expect(await evidenceOf(ingest.database)).toMatchObject([
      { kind: 'root', headSize: '5000', computedSize: '5000', computedRoot: expect.any(Buffer) as Buffer },
    ]);
  });

  it('a slow commit of signed entries is waited for', async () => {
    await openedWithout(4_500);
    const commit = ingest.logs.ingest.bind(ingest.logs);
    jest.spyOn(ingest.logs, 'ingest').mockImplementation(async (...batch) => {
      await pause(300);
      return await commit(...batch);
    });
    expect(await ingest.turn(ingest.follower())).toMatchObject({ position: '4096', verifiedSize: '4096' });
    expect(ingest.unavailable).toHaveLength(1);
  });

  it('the first batch is not stored', async () => {
    await openedWithout(1_000);
    const follower = ingest.follower();
    for (let turn = 0; turn < 3; turn += 1)
      expect(await ingest.turn(follower)).toMatchObject({ position: '0', verifiedSize: '0' });
    expect(faults()).toEqual(['root']);
    expect(await ingest.rows('ct_issuance')).toBe(0);
  });

  it('entries read before a turn ended early are not stored', async () => {
    await openedWithout(10);
    await ingest.turn(ingest.follower({ turnMs: 0, parallel: 1 }));
    expect(ingest.unavailable).toHaveLength(1);
    expect(await ingest.rows('ct_issuance')).toBe(0);
  });
});

it.each(kinds)('a log that refuses proofs is still read, and verified at its head: %s', async (kind) => {
  const log = await opened(kind, 5_000);
  const isProof = (path: string) => path.includes('consistency') || /^\/tile\/[0-9]/.test(path);
  log.intercept = (path, response) => {
    if (isProof(path)) response.writeHead(404).end();
    return isProof(path);
  };
  expect(await ingest.turn(ingest.follower())).toMatchObject({ verifiedSize: '5000', failures: 0 });
  expect(await ingest.rows('ct_issuance')).toBe(2_500);
  expect(log.requests.filter(isProof).length).toBeLessThanOrEqual(2);
});

it.each(kinds)('unproved entries that only a stopped log has are removed: %s', async (kind) => {
  const follower = ingest.follower();
  const log = await opened(kind, 4_999);
  const isProof = (path: string) => path.includes('consistency') || /^\/tile\/[0-9]/.test(path);
  log.intercept = (path, response) => {
    if (isProof(path)) response.writeHead(404).end();
    return isProof(path);
  };
  const { entries } = log;
  const other = served(forgePair(99_999).certificate, 4_998, kind === 'static');
  log.replace(
    entries.with(4_998, other),
    entries.map(({ leaf }) => leafHash(leaf)),
  );
  for (const failures of [1, 2])
    expect(await ingest.turn(follower)).toMatchObject({ failures, verifiedSize: '0' });
  const stoppedAt = await ingest.turn(follower);
  expect(stoppedAt).toMatchObject({ verifiedSize: '0' });
  // Whether the second batch was committed before the third one, which is read meanwhile, failed verification.
  expect(['2048', '4096']).toContain(stoppedAt.position);
  expect(faults()).toEqual(['root']);
  const stored = Number(stoppedAt.position) / 2;
  expect(await ingest.rows('ct_issuance')).toBe(stored);
  // Another log has 50 of them, too.
  const honest = await FakeLog.open(kind, forgeMany(100, 500));
  logs.push(honest);
  await ingest.keep(...logs);
  expect(await ingest.turn(follower)).toMatchObject({ verifiedSize: '100' });
  expect(await removeUnverified(ingest.asIngest)).toBe(stored - 50);
  const after = await ingest.log(stoppedAt.id);
  expect(after).toMatchObject({ position: '0', stoppedReason: stoppedAt.stoppedReason });
  const page = await pageOfAll(readingAlone(ingest.database.manager), { after: '0', limit: 1_000 });
  expect(page.issuances.map(({ dnsNames }) => dnsNames[0])).toEqual(
    Array.from({ length: 50 }, (_, nth) => `n${500 + nth}.example.com`),
  );
  const last = page.issuances.at(-1)?.position ?? '';
  expect(await removeUnverified(ingest.asIngest)).toBe(0);
  // Once the log is fixed, they are discovered again, after every cursor.
  log.replace(entries);
  await resumeLog(ingest.database, stoppedAt.id);
  await ingest.database.query(`UPDATE ct_log SET enabled = id = $1`, [stoppedAt.id]);
  expect(await ingest.turn(follower)).toMatchObject({ position: '4999', verifiedSize: '4999' });
  const { issuances } = await pageOfAll(readingAlone(ingest.database.manager), {
    after: last,
    limit: 10_000,
  });
  expect(issuances).toHaveLength(2_450);
  expect(await ingest.rows('ct_issuance')).toBe(2_500);
  const [marks] = await ingest.database.query<object[]>(
    `SELECT (SELECT count(*)::int FROM ct_unverified) AS unverified, (SELECT count(*)::int FROM ct_vouched) AS vouched`,
  );
  expect(marks).toEqual({ unverified: 0, vouched: 0 });
});

describe.each(kinds)('a log with the interface %s without a usable response', (kind) => {
  it.each([
    ['is requested too often', 429],
    ['fails', 500],
    ['is unavailable', 503],
  ])('since it %s rests, and is read on', async (_, status) => {
    const log = await opened(kind, 700);
    let responses = 0;
    log.intercept = (path, response) => {
      if (!isEntries(path) || (responses += 1) !== 3) return false;
      response.writeHead(status, { 'retry-after': '7' }).end();
      return true;
    };
    const follower = ingest.follower({ parallel: 1 });
    const begunAt = Date.now();
    const failed = await ingest.turn(follower);
    expect(failed).toMatchObject({ failures: 1, stoppedAt: null, leasedUntil: null });
    // Entries that were read before are kept.
    expect(Number(failed.position)).toBeGreaterThan(0);
    expect(failed.lastError).toContain(String(status));
    expect(ingest.unavailable[0]?.restMs).toBeGreaterThanOrEqual(7_000);
    expect(failed.dueAt.getTime()).toBeGreaterThan(begunAt + 6_000);
    expect(await ingest.turn(follower)).toMatchObject({ position: '700', verifiedSize: '700', failures: 0 });
    expect(await ingest.rows('ct_issuance')).toBe(350);
  });

  it('is retried when it cuts the connection', async () => {
    const log = await opened(kind, 300);
    let cuts = 2;
    log.intercept = (path, response) => {
      if (!isEntries(path) || (cuts -= 1) < 0) return false;
      response.writeHead(200, { 'content-length': '100000' }).write('{"entries":[');
      setImmediate(() => response.destroy());
      return true;
    };
    const follower = ingest.follower({ parallel: 1 });
    for (let turn = 0; turn < 2; turn += 1)
      expect(await ingest.turn(follower)).toMatchObject({ position: '0' });
    expect(await ingest.turn(follower)).toMatchObject({ position: '300', verifiedSize: '300' });
  });

  it('is not waited for after the timeout', async () => {
    const log = await opened(kind, 10);
    log.intercept = () => true;
    expect(await ingest.turn(ingest.follower({ timeoutMs: 200 }))).toMatchObject({ failures: 1 });
    expect(ingest.unavailable[0]?.message).toContain('complete response');
  });

  it.each([
    ['an endless one', (response: ServerResponse) => pour(response)],
    ['a page of a proxy', (response: ServerResponse) => void response.end('<html>')],
  ])('but %s as its head is not stopped for it', async (_, respond) => {
    const log = await opened(kind, 10);
    log.intercept = (_, response) => {
      respond(response);
      return true;
    };
    expect(await ingest.turn(ingest.follower())).toMatchObject({ failures: 1, stoppedAt: null });
  });

  it('does not block other logs with an endless response', async () => {
    const log = await opened(kind, 300);
    await opened(kind === 'static' ? 'rfc6962' : 'static', 300);
    log.intercept = (path, response) => {
      if (!isEntries(path)) return false;
      pour(response);
      return true;
    };
    const follower = ingest.follower();
    await ingest.turn(follower);
    await ingest.turn(follower);
    const both = await ingest.logs.all();
    expect(both.map(({ position }) => position)).toEqual(['0', '300']);
    expect(both.map(({ failures }) => failures)).toEqual([1, 0]);
  });
});

/** Endless bytes, as fast as they are read. */
function pour(response: ServerResponse): void {
  const bytes = Buffer.alloc(65_536, 0x20);
  const timer = setInterval(() => {
    for (let each = 0; each < 16 && response.write(bytes); each += 1);
  }, 1);
  response.once('close', () => clearInterval(timer));
}

it('a data tile that unpacks to far more than its size is rejected', async () => {
  const log = await opened('static', 256);
  const bomb = gzipSync(Buffer.alloc(128 * 1_048_576), { level: 1 });
  log.intercept = (path, response, request) => {
    if (!path.startsWith('/tile/data')) return false;
    const packs = String(request.headers['accept-encoding']).includes('gzip');
    // It keeps sending the gzip bomb though gzip is no longer requested.
    response.writeHead(200, { 'content-encoding': 'gzip', 'x-requests': String(packs) }).end(bomb);
    return true;
  };
  const before = process.memoryUsage().rss;
  expect(await ingest.turn(ingest.follower())).toMatchObject({ position: '0', failures: 1, stoppedAt: null });
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1_048_576);
});

it.each(kinds)('a huge entry is counted and partly stored; its neighbours are indexed: %s', async (kind) => {
  const log = await opened(kind, 10);
  log.add([forgePair(500, { padding: 3_000_000 }).certificate]);
  log.add(forgeMany(10, 5));
  log.add([forgePair(501, { padding: 3_000_000 }).precertificate]);
  const followed = await ingest.turn(ingest.follower());
  expect(followed).toMatchObject({ position: '22', verifiedSize: '22', entriesOdd: '2' });
  expect(await ingest.rows('ct_issuance')).toBe(10);
  const odd: unknown[] = await ingest.database.query(
    `SELECT entry_index, fault, octet_length(leaf) AS kept, leaf_bytes > 3000000 AS huge FROM ct_odd_entry ORDER BY 1`,
  );
  expect(odd).toEqual(
    ['10', '21'].map((index) => ({ entry_index: index, fault: 'huge', kept: 65_536, huge: true })),
  );
});

it('an entry that violates RFC 6962 is counted, stored and part of the tree', async () => {
  const log = await opened('rfc6962', 10);
  const odd = [
    { leaf: Buffer.from('0001ff', 'hex'), extraData: Buffer.alloc(0) },
    { leaf: Buffer.from('0000000000000000000000077a', 'hex'), extraData: Buffer.alloc(3) },
    { leaf: served(forgePair(1).certificate, 0, false).leaf, extraData: Buffer.from('00ff', 'hex') },
  ].map((each) => ({ ...each, tileLeaf: Buffer.alloc(0) }));
  log.replace([...log.entries.slice(0, 5), ...odd, ...log.entries.slice(5)]);
  expect(await ingest.turn(ingest.follower())).toMatchObject({
    position: '13',
    verifiedSize: '13',
    entriesOdd: '3',
  });
  const rows: { fault: string }[] = await ingest.database.query(
    'SELECT fault FROM ct_odd_entry ORDER BY entry_index',
  );
  expect(rows.map(({ fault }) => fault)).toEqual(['leaf_version', 'entry_type', 'extra_data']);
});

it.each(kinds)('an invalid certificate is counted and stored: %s', async (kind) => {
  const log = await opened(kind, 4);
  log.add([{ leafDer: Buffer.from('this is no certificate'), precertificateDer: null, timestamp: 1 }]);
  expect(await ingest.turn(ingest.follower())).toMatchObject({
    position: '5',
    verifiedSize: '5',
    entriesOdd: '1',
  });
});

it('certificates whose issuer the log does not have are stored without one', async () => {
  const log = await opened('static', 4);
  log.intercept = (path, response) => {
    if (path.startsWith('/issuer/')) response.writeHead(404).end();
    return path.startsWith('/issuer/');
  };
  expect(await ingest.turn(ingest.follower())).toMatchObject({ position: '4', verifiedSize: '4' });
  expect(await ingest.rows('ct_issuance')).toBe(2);
});

it.each(kinds)('the tree before the start is not trusted without a proof: %s', async (kind) => {
  const log = await opened(kind, 700);
  log.intercept = (path, response) => {
    const lies = path.includes('get-proof-by-hash') || /^\/tile\/[0-9]/.test(path);
    const other = log.headAt(123).rootHash;
    if (path.includes('get-proof-by-hash'))
      response.end(JSON.stringify({ leaf_index: 299, audit_path: [other.toString('base64')] }));
    else if (lies) response.end(Buffer.alloc(32 * Number(/p\/(\d+)$/.exec(path)?.[1] ?? 256), 7));
    return lies;
  };
  expect(await ingest.turn(ingest.follower({ start: '300' }))).toMatchObject({
    position: '0',
    startIndex: '0',
    failures: 1,
    treeState: Buffer.alloc(0),
  });
  log.intercept = () => false;
  expect(await ingest.turn(ingest.follower({ start: '300' }))).toMatchObject({ verifiedSize: '700' });
});

it('only partial tiles of a checkpoint are requested, and the full tile once the partial one is deleted', async () => {
  const log = await opened('static', 300);
  log.head = log.headAt(280);
  log.intercept = (path, response) => {
    if (path.includes('/tile/data/001.p/')) response.writeHead(404).end();
    return path.includes('/tile/data/001.p/');
  };
  const follower = ingest.follower();
  await ingest.turn(follower);
  expect(log.requests.filter((path) => path.includes('data/') && path.includes('.p/'))).toEqual([
    '/tile/data/001.p/24',
  ]);
  log.add(forgeMany(300, 150));
  log.head = log.headAt(290);
  expect(await ingest.turn(follower)).toMatchObject({ position: '290', verifiedSize: '290' });
  log.head = log.headAt(600);
  expect(await ingest.turn(follower)).toMatchObject({ position: '600', verifiedSize: '600' });
});

it.each([1, 7, 32, 1_000])('reads pages of %i entries', async (page) => {
  const log = await opened('rfc6962', 150);
  log.page = page;
  expect(await ingest.turn(ingest.follower({ pageSize: 40 }))).toMatchObject({
    position: '150',
    verifiedSize: '150',
  });
  expect(await ingest.rows('ct_issuance')).toBe(75);
});

it('truncates a page with more entries than requested', async () => {
  const log = await opened('rfc6962', 150);
  log.intercept = (path, response) => {
    if (!path.includes('get-entries')) return false;
    const start = Number(/start=(\d+)/.exec(path)?.[1]);
    const entries = log.entries.slice(start).map(({ leaf, extraData }) => ({
      leaf_input: leaf.toString('base64'),
      extra_data: extraData.toString('base64'),
    }));
    response.end(JSON.stringify({ entries }));
    return true;
  };
  expect(await ingest.turn(ingest.follower({ pageSize: 40 }))).toMatchObject({
    position: '150',
    verifiedSize: '150',
  });
});
