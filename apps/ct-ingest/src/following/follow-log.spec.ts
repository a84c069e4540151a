import { once } from 'node:events';
import { CompactTree } from '@certwright/ct';
import { issuanceBodies, pageOfAll, readingAlone, unpackBody } from '@certwright/ct-index';
import { eventually } from '@certwright/testing';
import { forgeMany, forgePair, issuerDer, issuerSpkiSha256, sha256 } from '../testing/forged-entries';
import { IngestFixture } from '../testing/ingest-fixture';
import type { IndexedScope } from '../reading/indexed-scope';

jest.setTimeout(60_000);

let ingest: IngestFixture;
beforeAll(async () => void (ingest = await IngestFixture.open()));
afterAll(async () => await ingest.close());
afterEach(async () => {
  await ingest.empty();
});

const kinds = ['rfc6962', 'static'] as const;
const issuances = async () =>
  (await pageOfAll(readingAlone(ingest.database.manager), { after: '0', limit: 10_000 })).issuances;

describe.each(kinds)('a log with the interface %s', (kind) => {
  it('is read to its head, and hashes to its signed root', async () => {
    const log = await ingest.openLog(kind, 700);
    const followed = await ingest.turn(ingest.follower());
    expect(followed).toMatchObject({
      position: '700',
      headSize: '700',
      verifiedSize: '700',
      entriesOdd: '0',
    });
    expect(CompactTree.restore(followed.treeState)?.root()).toEqual(log.root(700));
    expect(followed.headSigned?.length).toBeGreaterThan(100);
    expect(await ingest.rows('ct_issuance')).toBe(350);
    expect(followed.entryAt).toEqual(new Date(Date.UTC(2026, 0, 1) + 349_001));
  });

  it('provides the certificate data and the issuer of an issuance', async () => {
    await ingest.openLog(kind, 1);
    await ingest.turn(ingest.follower());
    const { precertificate } = forgePair(0);
    const [issuance] = await issuances();
    expect(issuance).toMatchObject({ precertificate: true, dnsNames: ['n0.example.com'] });
    const der = precertificate.precertificateDer ?? Buffer.alloc(0);
    const [stored] = await issuanceBodies(ingest.database.manager, [String(issuance?.position)], 0);
    expect(unpackBody(stored?.body ?? Buffer.alloc(1)).equals(der)).toBe(true);
    expect(issuance?.digests.subarray(32, 64)).toEqual(sha256(der));
    const [{ serial }] = await ingest.database.query(
      `SELECT encode(serial, 'hex') AS serial FROM ct_issuance`,
    );
    expect(serial).toBe('110000000010000000');
    const [issuer] = await ingest.database.query(`SELECT spki_sha256, certificate_der FROM ct_issuer`);
    expect(issuer).toEqual({ spki_sha256: issuerSpkiSha256, certificate_der: issuerDer });
  });

  it('is read from its last position when it grows', async () => {
    const log = await ingest.openLog(kind, 300);
    const follower = ingest.follower();
    await ingest.turn(follower);
    log.add(forgeMany(301, 150));
    log.requests.length = 0;
    expect(await ingest.turn(follower)).toMatchObject({ position: '601', verifiedSize: '601' });
    expect(log.requests.some((path) => path.startsWith('/tile/data/000') || path.includes('start=0'))).toBe(
      false,
    );
    expect(await ingest.rows('ct_issuance')).toBe(301);
  });

  it('receives only a request for its head when it has nothing new', async () => {
    const log = await ingest.openLog(kind, 300);
    const follower = ingest.follower();
    await ingest.turn(follower);
    log.requests.length = 0;
    await ingest.turn(follower);
    expect(log.requests).toHaveLength(1);
  });

  it('is followed when it has no entries', async () => {
    const log = await ingest.openLog(kind, 0);
    const follower = ingest.follower();
    expect(await ingest.turn(follower)).toMatchObject({ position: '0', headSize: '0', failures: 0 });
    log.add(forgeMany(3));
    expect(await ingest.turn(follower)).toMatchObject({ position: '3', verifiedSize: '3' });
  });

  it.each([
    ['an index', '300', 300],
    ['a date', '2026-01-01T00:02:00Z', 240],
    ['now', 'now', 700],
    ['an index beyond its end', '5000', 700],
  ])('begins at %s: what lies before is proved to be part of the tree', async (_, start, index) => {
    const log = await ingest.openLog(kind, 700);
    const follower = ingest.follower({ start });
    const begun = await ingest.turn(follower);
    expect(begun).toMatchObject({ startIndex: String(index), position: '700', verifiedSize: '700' });
    log.add(forgeMany(60, 350));
    const followed = await ingest.turn(ingest.follower({ start: '1' }));
    expect(followed).toMatchObject({ startIndex: String(index), position: '760', verifiedSize: '760' });
    expect(CompactTree.restore(followed.treeState)?.root()).toEqual(log.root(760));
    expect(await ingest.rows('ct_issuance')).toBe((760 - index) / 2);
  });

  it('starts with its first entry when START is now and it has no entries', async () => {
    const log = await ingest.openLog(kind, 0);
    await ingest.turn(ingest.follower({ start: 'now' }));
    log.add(forgeMany(5));
    expect(await ingest.turn(ingest.follower({ start: 'now' }))).toMatchObject({
      startIndex: '0',
      position: '5',
    });
  });

  it('with a backlog yields to other logs, and continues later', async () => {
    await ingest.openLog(kind, 700);
    const follower = ingest.follower({ turnMs: 0, parallel: 1 });
    const positions: number[] = [];
    for (let turn = 0; turn < 20 && positions.at(-1) !== 700; turn += 1)
      positions.push(Number((await ingest.turn(follower)).position));
    expect(positions.length).toBeGreaterThan(2);
    expect((await ingest.log()).verifiedSize).toBe('700');
  });

  it('is released when the process stops, without partial writes', async () => {
    const log = await ingest.openLog(kind, 700);
    const stopping = new AbortController();
    log.intercept = (path) => {
      if (path.includes('001') || path.includes('start=300')) stopping.abort(new Error('stop'));
      return false;
    };
    const stopped = await ingest.turn(ingest.follower({ parallel: 1 }), stopping.signal);
    expect(stopped).toMatchObject({ leasedUntil: null, failures: 0, stoppedAt: null });
    log.intercept = () => false;
    expect(await ingest.turn(ingest.follower())).toMatchObject({ position: '700', verifiedSize: '700' });
    expect(await ingest.rows('ct_issuance')).toBe(350);
  });
});

it.each([
  ['aligned', true, 1],
  ['aligned', true, 4],
  ['other', false, 1],
  ['other', false, 4],
])(
  'a log with smaller, %s pages is read in whole pages, wherever reading begins (%s, %i)',
  async (_, aligns, parallel) => {
    const log = await ingest.openLog('rfc6962', 650);
    Object.assign(log, { page: 50, aligns });
    await ingest.turn(ingest.follower({ start: '49', pageSize: 100, parallel }));
    expect(await ingest.log()).toMatchObject({ position: '650' });
    // A few more requests than pages, until the page size is known.
    const requests = log.requests.filter((path) => path.includes('get-entries'));
    expect(requests.length).toBeLessThan(650 / 50 + 8);
  },
);

it('an issuance in several logs, or with a certificate after its precertificate, is stored once', async () => {
  await ingest.openLog('rfc6962', 100);
  await ingest.openLog('static', 200);
  await ingest.turn(ingest.follower());
  await ingest.turn(ingest.follower());
  const found = await issuances();
  expect(found).toHaveLength(100);
  expect(found.every(({ precertificate }) => !precertificate)).toBe(true);
});

it('an issuance that was recently seen in another log is not looked up again', async () => {
  await ingest.openLog('rfc6962', 100);
  const follower = ingest.follower();
  await ingest.turn(follower);
  await ingest.openLog('static', 100);
  await ingest.database.query('UPDATE ct_log SET enabled = (position = 0)');
  await ingest.turn(follower);
  // For each pair of the first log, the certificate has replaced its precertificate.
  expect(ingest.outcomes).toMatchObject({ stored: 100, known: 100 });
});

it('a certificate keeps the issuer of its precertificate when the log lacks the certificate of the issuer', async () => {
  const log = await ingest.openLog('static', 0);
  log.intercept = (path, response) => {
    if (!path.startsWith('/issuer/')) return false;
    response.writeHead(404).end();
    return true;
  };
  log.add(forgeMany(2, 400));
  await ingest.turn(ingest.follower());
  const issuers = await ingest.database.query(
    `SELECT encode(ct_issuer.spki_sha256, 'hex') AS spki, precertificate FROM ct_issuance JOIN ct_issuer ON ct_issuer.id = issuer`,
  );
  expect(issuers).toEqual([{ spki: issuerSpkiSha256.toString('hex'), precertificate: false }]);
});

it('expired certificates are part of the tree, but not of the index', async () => {
  const log = await ingest.openLog('static', 0);
  const yesterday = new Date(Date.now() - 2 * 86_400_000);
  log.add(forgeMany(10, 0, { notAfter: yesterday }));
  log.add(forgeMany(2, 5));
  expect(await ingest.turn(ingest.follower())).toMatchObject({ position: '12', verifiedSize: '12' });
  expect(ingest.outcomes).toMatchObject({ expired: 10 });
  expect(await ingest.rows('ct_issuance')).toBe(1);
});

it('issuances without a monitored name are not stored, but the tree is verified', async () => {
  await ingest.openLog('static', 40);
  const scope: IndexedScope = { covers: (names) => names.includes('n7.example.com') };
  expect(await ingest.turn(ingest.follower({ scope }))).toMatchObject({ position: '40', verifiedSize: '40' });
  expect((await issuances()).map(({ dnsNames }) => dnsNames)).toEqual([['n7.example.com']]);
});

it('a log keeps its lease when a turn takes longer than the lease', async () => {
  const log = await ingest.openLog('rfc6962', 20);
  log.intercept = async (path) => {
    if (!path.includes('get-entries')) return false;
    const leasedUntil = async () => (await ingest.log()).leasedUntil?.getTime() ?? 0;
    for (let lengthened = 0; lengthened < 2; lengthened += 1) {
      const before = await leasedUntil();
      await eventually(async () => expect(await leasedUntil()).toBeGreaterThan(before));
    }
    return false;
  };
  await ingest.database.query(`UPDATE ct_log SET due_at = now() - interval '1 second'`);
  const leased = await ingest.logs.lease(900);
  if (leased === null) throw new Error('not leased');
  await ingest.follower({ leaseMs: 900 }).turn(leased, new AbortController().signal);
  expect(await ingest.log()).toMatchObject({ position: '20' });
});

it('a copy with an expired lease writes nothing, and sends no more requests', async () => {
  const log = await ingest.openLog('rfc6962', 20);
  const follower = ingest.follower({ leaseMs: 300 });
  log.intercept = async (path, response) => {
    if (!path.includes('get-entries')) return false;
    await ingest.database.query('UPDATE ct_log SET lease_token = lease_token + 1');
    // No response until the request is aborted.
    await once(response, 'close');
    return true;
  };
  expect(await ingest.turn(follower)).toMatchObject({ position: '0' });
  expect(ingest.leasesLost).toBe(1);
});
