import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { forgeMany, forgePair } from '../testing/forged-entries';
import { served } from '../testing/forged-tree';
import { IngestFixture } from '../testing/ingest-fixture';

jest.setTimeout(60_000);

let ingest: IngestFixture;
beforeAll(async () => void (ingest = await IngestFixture.open()));
afterAll(async () => await ingest.close());
afterEach(async () => await ingest.empty());

const kinds = ['rfc6962', 'static'] as const;
const isEntries = (path: string) => path.includes('get-entries') || path.includes('/tile/data');

describe.each(kinds)('a log with the interface %s without a usable response', (kind) => {
  it.each([
    ['is requested too often', 429],
    ['fails', 500],
    ['is unavailable', 503],
  ])('since it %s rests, and is read on', async (_, status) => {
    const log = await ingest.openLog(kind, 700);
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
    const log = await ingest.openLog(kind, 300);
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
    const log = await ingest.openLog(kind, 10);
    log.intercept = () => true;
    expect(await ingest.turn(ingest.follower({ timeoutMs: 200 }))).toMatchObject({ failures: 1 });
    expect(ingest.unavailable[0]?.message).toContain('complete response');
  });

  it.each([
    ['an endless one', (response: ServerResponse) => pour(response)],
    ['a page of a proxy', (response: ServerResponse) => void response.end('<html>')],
  ])('but %s as its head is not stopped for it', async (_, respond) => {
    const log = await ingest.openLog(kind, 10);
    log.intercept = (_, response) => {
      respond(response);
      return true;
    };
    expect(await ingest.turn(ingest.follower())).toMatchObject({ failures: 1, stoppedAt: null });
  });

  it('does not block other logs with an endless response', async () => {
    const log = await ingest.openLog(kind, 300);
    await ingest.openLog(kind === 'static' ? 'rfc6962' : 'static', 300);
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
  const log = await ingest.openLog('static', 256);
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
  const log = await ingest.openLog(kind, 10);
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
  const log = await ingest.openLog('rfc6962', 10);
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
  const log = await ingest.openLog(kind, 4);
  log.add([{ leafDer: Buffer.from('this is no certificate'), precertificateDer: null, timestamp: 1 }]);
  expect(await ingest.turn(ingest.follower())).toMatchObject({
    position: '5',
    verifiedSize: '5',
    entriesOdd: '1',
  });
});

it('certificates whose issuer the log does not have are stored without one', async () => {
  const log = await ingest.openLog('static', 4);
  log.intercept = (path, response) => {
    if (path.startsWith('/issuer/')) response.writeHead(404).end();
    return path.startsWith('/issuer/');
  };
  expect(await ingest.turn(ingest.follower())).toMatchObject({ position: '4', verifiedSize: '4' });
  expect(await ingest.rows('ct_issuance')).toBe(2);
});

it.each(kinds)('the tree before the start is not trusted without a proof: %s', async (kind) => {
  const log = await ingest.openLog(kind, 700);
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
  const log = await ingest.openLog('static', 300);
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
  const log = await ingest.openLog('rfc6962', 150);
  log.page = page;
  expect(await ingest.turn(ingest.follower({ pageSize: 40 }))).toMatchObject({
    position: '150',
    verifiedSize: '150',
  });
  expect(await ingest.rows('ct_issuance')).toBe(75);
});

it('truncates a page with more entries than requested', async () => {
  const log = await ingest.openLog('rfc6962', 150);
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
