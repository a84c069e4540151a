import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { leafHash } from '@certwright/ct';
import { restartLog, resumeLog } from '@certwright/ct-persistence';
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

  it('when it has signed a newer head with fewer entries', async () => {
    log.head = log.headAt(200, log.head.timestamp + 1);
    await ingest.turn(ingest.follower());
    await stopped('rollback');
  });

  it('when it keeps answering with a head from before, and not earlier', async () => {
    log.head = log.headAt(200, log.head.timestamp - 1);
    const follower = ingest.follower({ stalePatienceMs: 1 });
    const waiting = { stoppedAt: null, failures: 0, headSize: '300' };
    expect(await ingest.turn(follower)).toMatchObject(waiting);
    await ingest.turn(follower);
    await stopped('rollback');
    // Whoever resumes it has seen that, and it is waited for again.
    await resumeLog(ingest.database, (await ingest.log()).id);
    expect(await ingest.turn(follower)).toMatchObject(waiting);
  });

  it('when it has signed two roots for one size', async () => {
    log.head = { ...log.headAt(300, log.head.timestamp + 1), rootHash: Buffer.alloc(32, 1) };
    await ingest.turn(ingest.follower());
    await stopped('fork');
  });

  it('when its entries are others than before, though there are more of them', async () => {
    log.replace(forgeMany(400, 1_000).map((each, at) => served(each, at, kind === 'static')));
    await ingest.turn(ingest.follower());
    await stopped('fork');
  });

  it('when it has not signed its head', async () => {
    log.forgetKey();
    await ingest.turn(ingest.follower());
    await stopped('signature');
  });

  it('when its entries do not hash to the root that it signed', async () => {
    const more = forgeMany(350, 0).map((each, at) => served(each, at, kind === 'static'));
    const other = served(forgePair(9_999).certificate, 320, kind === 'static');
    const leaves = more.map(({ leaf }) => leafHash(leaf));
    log.replace(more.with(320, other), leaves);
    await ingest.turn(ingest.follower());
    await stopped('root');
  });

  it('and goes on where it stood when an operator resumes it, once it is mended', async () => {
    const { signingKey } = log;
    log.forgetKey();
    await ingest.turn(ingest.follower());
    await stopped('signature');
    log.signingKey = signingKey;
    log.add(forgeMany(10, 150));
    log.asked.length = 0;
    await resumeLog(ingest.database, (await ingest.log()).id);
    expect(await ingest.turn(ingest.follower())).toMatchObject({ startIndex: '0', verifiedSize: '310' });
    expect(log.asked.some((path) => path.includes('tile/data/000') || path.includes('start=0'))).toBe(false);
  });

  it.each([
    [100, 'beginning', 250],
    [0, 'now', 250],
    [1_000, 'beginning', 150],
  ])(
    'and begins anew at %i when an operator says so, with another history',
    async (from, start, issuances) => {
      log.replace(forgeMany(400, 50).map((each, at) => served(each, at, kind === 'static')));
      await ingest.turn(ingest.follower());
      await stopped('fork');
      await restartLog(ingest.database, (await ingest.log()).id, BigInt(from));
      const begun = { startIndex: String(Math.min(from, 400)), position: '400', verifiedSize: '400' };
      expect(await ingest.turn(ingest.follower({ start }))).toMatchObject({ ...begun, stoppedAt: null });
      // Those from before stay, and those of them that are read again are known.
      expect(await ingest.rows('ct_issuance')).toBe(issuances);
    },
  );
});

describe.each(kinds)('a log with the interface %s that gives no answer', (kind) => {
  it.each([
    ['is asked too often', 429],
    ['fails', 500],
    ['is away', 503],
  ])('since it %s rests, and is read on', async (_, status) => {
    const log = await opened(kind, 700);
    let answers = 0;
    log.intercept = (path, response) => {
      if (!isEntries(path) || (answers += 1) !== 3) return false;
      response.writeHead(status, { 'retry-after': '7' }).end();
      return true;
    };
    const follower = ingest.follower({ parallel: 1 });
    const failed = await ingest.turn(follower);
    expect(failed).toMatchObject({ failures: 1, stoppedAt: null, leasedUntil: null });
    // What was read before is kept.
    expect(Number(failed.position)).toBeGreaterThan(0);
    expect(failed.lastError).toContain(String(status));
    expect(ingest.unavailable[0]?.restMs).toBeGreaterThanOrEqual(7_000);
    expect(failed.dueAt.getTime()).toBeGreaterThan(Date.now() + 5_000);
    expect(await ingest.turn(follower)).toMatchObject({ position: '700', verifiedSize: '700', failures: 0 });
    expect(await ingest.rows('ct_issuance')).toBe(350);
  });

  it('but cuts the connection is tried again', async () => {
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

  it('in time is not waited for', async () => {
    const log = await opened(kind, 10);
    log.intercept = () => true;
    expect(await ingest.turn(ingest.follower({ timeoutMs: 200 }))).toMatchObject({ failures: 1 });
    expect(ingest.unavailable[0]?.message).toContain('complete answer');
  });

  it.each([
    ['an endless one', (response: ServerResponse) => pour(response)],
    ['a page of somebody in between', (response: ServerResponse) => void response.end('<html>')],
  ])('but %s as its head is not stopped for it', async (_, answer) => {
    const log = await opened(kind, 10);
    log.intercept = (_, response) => {
      answer(response);
      return true;
    };
    expect(await ingest.turn(ingest.follower())).toMatchObject({ failures: 1, stoppedAt: null });
  });

  it('but an endless one holds up nobody else', async () => {
    const log = await opened(kind, 300);
    await opened(kind === 'static' ? 'rfc6962' : 'static', 300);
    log.intercept = (path, response) => {
      if (!isEntries(path)) return false;
      pour(response);
      return true;
    };
    const follower = ingest.follower({ timeoutMs: 300 });
    await ingest.turn(follower);
    await ingest.turn(follower);
    const both = await ingest.logs.all();
    expect(both.map(({ position }) => position)).toEqual(['0', '300']);
    expect(both.map(({ failures }) => failures)).toEqual([1, 0]);
  });
});

/** Octets without end, as fast as they are taken. */
function pour(response: ServerResponse): void {
  const octets = Buffer.alloc(65_536, 0x20);
  const timer = setInterval(() => {
    for (let each = 0; each < 16 && response.write(octets); each += 1);
  }, 1);
  response.once('close', () => clearInterval(timer));
}

it('a data tile that unpacks to far more than it is, is given up', async () => {
  const log = await opened('static', 256);
  const bomb = gzipSync(Buffer.alloc(128 * 1_048_576), { level: 1 });
  log.intercept = (path, response, request) => {
    if (!path.startsWith('/tile/data')) return false;
    const packs = String(request.headers['accept-encoding']).includes('gzip');
    // It stays with its bomb though it is not asked for gzip any more.
    response.writeHead(200, { 'content-encoding': 'gzip', 'x-asked': String(packs) }).end(bomb);
    return true;
  };
  const before = process.memoryUsage().rss;
  expect(await ingest.turn(ingest.follower())).toMatchObject({ position: '0', failures: 1, stoppedAt: null });
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1_048_576);
});

it.each(kinds)('a huge entry is counted and kept in part; those around it are indexed: %s', async (kind) => {
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

it('an entry in another form than RFC 6962 has is counted and kept, and part of the tree', async () => {
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

it.each(kinds)('a certificate that is none is counted and kept: %s', async (kind) => {
  const log = await opened(kind, 4);
  log.add([{ leafDer: Buffer.from('this is no certificate'), precertificateDer: null, timestamp: 1 }]);
  expect(await ingest.turn(ingest.follower())).toMatchObject({
    position: '5',
    verifiedSize: '5',
    entriesOdd: '1',
  });
});

it('an issuer that the log does not have leaves its certificates without one', async () => {
  const log = await opened('static', 4);
  log.intercept = (path, response) => {
    if (path.startsWith('/issuer/')) response.writeHead(404).end();
    return path.startsWith('/issuer/');
  };
  expect(await ingest.turn(ingest.follower())).toMatchObject({ position: '4', verifiedSize: '4' });
  expect(await ingest.rows('ct_issuance')).toBe(2);
});

it.each(kinds)('what lies before the start is not believed unless it is proved: %s', async (kind) => {
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

it('no partial tile is asked for that no checkpoint speaks of, and the full one where it is gone', async () => {
  const log = await opened('static', 300);
  log.head = log.headAt(280);
  log.intercept = (path, response) => {
    if (path.includes('/tile/data/001.p/')) response.writeHead(404).end();
    return path.includes('/tile/data/001.p/');
  };
  const follower = ingest.follower();
  await ingest.turn(follower);
  expect(log.asked.filter((path) => path.includes('.p/'))).toEqual(['/tile/data/001.p/24']);
  log.add(forgeMany(300, 150));
  log.head = log.headAt(290);
  expect(await ingest.turn(follower)).toMatchObject({ position: '290', verifiedSize: '290' });
  log.head = log.headAt(600);
  expect(await ingest.turn(follower)).toMatchObject({ position: '600', verifiedSize: '600' });
});

it.each([1, 7, 32, 1_000])('pages of %i entries are as good as any', async (page) => {
  const log = await opened('rfc6962', 150);
  log.page = page;
  expect(await ingest.turn(ingest.follower({ pageSize: 40 }))).toMatchObject({
    position: '150',
    verifiedSize: '150',
  });
  expect(await ingest.rows('ct_issuance')).toBe(75);
});

it('a page with more entries than were asked for is cut', async () => {
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
