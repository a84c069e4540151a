import { setTimeout as pause } from 'node:timers/promises';
import { leafHash } from '@certwright/ct';
import { evidenceOf } from '../logs/log-evidence';
import { pageOfAll, readingAlone } from '@certwright/ct-index';
import { removeUnverified } from '../logs/unverified';
import { restartLog, resumeLog } from '../logs/start-again';
import type { FakeLog } from '../testing/fake-log';
import { forgeMany, forgePair } from '../testing/forged-entries';
import { served } from '../testing/forged-tree';
import { IngestFixture } from '../testing/ingest-fixture';

jest.setTimeout(60_000);

let ingest: IngestFixture;
beforeAll(async () => void (ingest = await IngestFixture.open()));
afterAll(async () => await ingest.close());
afterEach(async () => {
  jest.restoreAllMocks();
  await ingest.empty();
});

const kinds = ['rfc6962', 'static'] as const;
const faults = () => ingest.stopped.map(({ kind }) => kind);

describe.each(kinds)('a log with the interface %s is stopped', (kind) => {
  let log: FakeLog;
  beforeEach(async () => {
    log = await ingest.openLog(kind, 300);
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
    log = await ingest.openLog(kind, 300);
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
  function addWithWrongBytes(at = 320): FakeLog['entries'] {
    log.add(forgeMany(50, at));
    const { entries } = log;
    const other = served(forgePair(9_999).certificate, at, kind === 'static');
    log.replace(
      entries.with(at, other),
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

  it.each(['it was right again', 'an operator resumed it'])(
    'when it serves wrong bytes once after an outage; earlier ones do not count once %s',
    async (between) => {
      const follower = ingest.follower();
      const signed = addWithWrongBytes();
      for (const failures of [1, 2])
        expect(await ingest.turn(follower)).toMatchObject({ failures, stoppedAt: null });
      if (between === 'it was right again') {
        log.replace(signed);
        expect(await ingest.turn(follower)).toMatchObject({ failures: 0, position: '350' });
      } else {
        expect((await ingest.turn(follower)).stoppedAt).not.toBeNull();
        await resumeLog(ingest.database, (await ingest.log()).id);
      }
      log.intercept = (_, response) => {
        response.writeHead(503).end();
        return true;
      };
      expect(await ingest.turn(follower)).toMatchObject({ failures: 1 });
      log.intercept = () => false;
      log.replace(signed);
      addWithWrongBytes(370);
      expect(await ingest.turn(follower)).toMatchObject({ failures: 2, stoppedAt: null });
    },
  );

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
    const log = await ingest.openLog(kind, 300);
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
    const log = await ingest.openLog(kind, size);
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
  const log = await ingest.openLog(kind, 5_000);
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
  const log = await ingest.openLog(kind, 4_999);
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
  await ingest.openLog(kind, 100, 500);
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
