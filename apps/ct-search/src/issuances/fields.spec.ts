import { createHash } from 'node:crypto';
import { issuanceAt, readingAlone } from '@certwright/ct-index';
import { issuanceExpansion, KnownCoverage, KnownIssuers, PresentIssuances } from '@certwright/issuance-json';
import { tlv } from '@certwright/testing';
import { nameOf, spki } from '../testing/forged-certificate';
import {
  anIssuance,
  type ForgedIssuance,
  issuerNamed,
  type IssuanceFields,
} from '../testing/forged-issuance';
import { RunningSearch } from '../testing/running-search';

jest.setTimeout(60_000);

let search: RunningSearch;
beforeAll(async () => {
  search = await RunningSearch.start();
});
afterAll(async () => await search.stop());

let domains = 0;
/** Stores one, and retrieves it by its domain with expanded members. */
async function shown(
  fields: IssuanceFields,
  ...expand: string[]
): Promise<{ stored: ForgedIssuance; json: Record<string, unknown> }> {
  const domain = `f${(domains += 1)}.example.com`;
  const stored = anIssuance([domain, `www.${domain}`], fields);
  const [id] = await search.store(stored);
  const found = await search.search([
    ['domain', domain],
    ...expand.map((name): [string, string] => ['expand', name]),
  ]);
  const one = await search.get(`/v1/issuances/${id}?${expand.map((name) => `expand=${name}`).join('&')}`);
  // It is the same by id.
  expect(one.json).toEqual(found.json[0]);
  return { stored, json: found.json[0] };
}
const base = ['id', 'tbs_sha256', 'cert_sha256', 'pubkey_sha256', 'not_before', 'not_after', 'revoked'];
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

describe('expandable members', () => {
  it.each([
    ['dns_names', ['dns_names']],
    ['pubkey', ['pubkey']],
    ['pubkey.curve', ['pubkey']],
    ['pubkey_der', ['pubkey_der']],
    ['issuer', ['issuer']],
    ['issuer.website', ['issuer']],
    ['revocation', ['revocation']],
    ['revocation.time', ['revocation']],
    ['problem_reporting', ['problem_reporting']],
    ['cert_der', ['cert_der']],
    ['cert', ['cert']],
    ['id', []],
    ['Issuer', []],
    ['issuer.nothing', []],
    ['issuer.', []],
    ['.issuer', []],
    ['dns_names.x', []],
    ['__proto__', []],
    ['constructor', []],
    ['', []],
  ])('%s adds %j and nothing else', async (expand, added) => {
    const { json } = await shown({}, expand);
    expect(Object.keys(json).sort()).toEqual([...base, ...added].sort());
  });

  it('of the certificate', async () => {
    const { stored, json } = await shown({}, 'dns_names', 'cert_der', 'cert', 'pubkey_der');
    expect(json).toMatchObject({
      dns_names: stored.dnsNames,
      cert_der: base64(stored.der),
      cert: { type: 'cert', sha256: json['cert_sha256'], data: base64(stored.der) },
      pubkey_der: base64(spki.p256),
    });
    expect(json['cert_sha256']).toBe(createHash('sha256').update(stored.der).digest('hex'));
    expect(json['pubkey_sha256']).toBe(createHash('sha256').update(spki.p256).digest('hex'));
  });

  it('of a precertificate, until its certificate is known', async () => {
    const serial = Buffer.from('1234', 'hex');
    const precertificate = anIssuance('pre.example.com', { precertificate: true, serial });
    const certificate = anIssuance('pre.example.com', { serial });
    expect(precertificate.tbsSha256).toEqual(certificate.tbsSha256);
    const [id] = await search.store(precertificate);
    const at = `/v1/issuances/${id}?expand=cert`;
    const before = (await search.get(at)).json;
    expect(before.cert).toEqual({
      type: 'precert',
      sha256: before.cert_sha256,
      data: base64(precertificate.der),
    });
    await search.store(certificate);
    const after = (await search.get(at)).json;
    expect(after.cert).toEqual({ type: 'cert', sha256: after.cert_sha256, data: base64(certificate.der) });
    expect([after.id, after.tbs_sha256]).toEqual([before.id, before.tbs_sha256]);
    expect(after.cert_sha256).not.toBe(before.cert_sha256);
  });

  it.each([
    ['rsa', { type: 'rsa', bit_length: 2048 }],
    ['p256', { type: 'ecdsa', curve: 'P-256' }],
    ['p384', { type: 'ecdsa', curve: 'P-384' }],
    ['ed25519', { type: 'unknown' }],
  ] as const)('pubkey of %s', async (kind, pubkey) => {
    const { json } = await shown({ spkiDer: spki[kind], precertificate: true }, 'pubkey');
    expect(json['pubkey']).toEqual(pubkey);
  });

  it('pubkey of an unreadable key', async () => {
    const { json } = await shown({ spkiDer: Buffer.alloc(0) }, 'pubkey', 'pubkey_der');
    expect(json).toMatchObject({ pubkey: { type: 'unknown' } });
  });
});

describe('the issuer', () => {
  const curated = issuerNamed(nameOf(['C', 'XX'], ['O', 'Curated, Inc.'], ['CN', 'C1']), spki.rsa);

  it('has only base fields, and others on request', async () => {
    const { json } = await shown({}, 'issuer');
    expect(json['issuer']).toEqual({
      friendly_name: 'Example Trust, Inc.',
      pubkey_sha256: createHash('sha256').update(spki.p384).digest('hex'),
      name: 'CN=Example CA 1,O=Example Trust\\, Inc.,C=XX',
    });
    const { json: more } = await shown({}, 'issuer.pubkey_der', 'issuer.name_der', 'issuer.caa_domains');
    expect(more['issuer']).toEqual({
      ...(json['issuer'] as object),
      pubkey_der: base64(spki.p384),
      name_der: base64(nameOf(['C', 'XX'], ['O', 'Example Trust, Inc.'], ['CN', 'Example CA 1'])),
      caa_domains: null,
    });
  });

  it('has the curated profile', async () => {
    await search.database.query(
      `INSERT INTO ct_issuer_profile (spki_sha256, friendly_name, website, caa_domains, operator_name, operator_website,
         problem_reporting, as_of, source)
       VALUES ($1, 'Curated', 'https://curated.example', '{ca.example,"ca2.example"}', 'Operator', NULL, 'Write to us.', '2026-11-01', 'spec')`,
      [curated.spkiSha256],
    );
    const { json } = await shown(
      { issuer: curated },
      'issuer.website',
      'issuer.operator.name',
      'issuer.caa_domains',
      'problem_reporting',
    );
    expect(json['issuer']).toMatchObject({
      friendly_name: 'Curated',
      website: 'https://curated.example',
      caa_domains: ['ca.example', 'ca2.example'],
      operator: { name: 'Operator', website: null },
    });
    expect(json['problem_reporting']).toBe('Write to us.');
  });

  it.each<[string, Buffer, string, string]>([
    ['without an organization', nameOf(['CN', 'Lone CA']), 'Lone CA', 'CN=Lone CA'],
    ['of a country alone', nameOf(['C', 'XX']), 'C=XX', 'C=XX'],
    ['with an organization of white space', nameOf(['O', ' '], ['CN', 'x']), 'Unknown issuer', 'CN=x,O=\\ '],
    ['without a name', nameOf(), 'Unknown issuer', ''],
    ['whose name is none', tlv(0x30, tlv(0x02, Buffer.from([5]))), '#3003020105', '#3003020105'],
  ])('%s', async (_, nameDer, friendlyName, name) => {
    const { json } = await shown({ issuer: issuerNamed(nameDer) }, 'issuer');
    expect(json['issuer']).toMatchObject({ friendly_name: friendlyName, name });
  });

  it('without a known key has a digest of zeros and an empty key', async () => {
    const { json } = await shown(
      { issuer: issuerNamed(nameOf(['CN', 'Unknown']), null) },
      'issuer.pubkey_der',
    );
    expect(json['issuer']).toMatchObject({ pubkey_sha256: '0'.repeat(64), pubkey_der: '' });
  });
});

describe('revocation', () => {
  /** A fresh list that covers a certificate; with the certificate on it, or without. */
  async function listed(
    domain: string,
    reason: number | null,
    discoveredAt = '2026-11-20T09:59:59Z',
  ): Promise<Record<string, unknown>> {
    const [id] = await search.store(anIssuance(domain, { crlUrl: `http://crl.example.com/${domain}.crl` }));
    await search.database.query(`UPDATE ct_issuance SET discovered_at = $2 WHERE position = $1`, [
      id,
      discoveredAt,
    ]);
    await search.database.query(
      `UPDATE ct_crl SET covers = true, fresh_until = now() + interval '1 day', checked_at = '2026-11-20T10:00:00.5Z'
       WHERE url = $1`,
      [`http://crl.example.com/${domain}.crl`],
    );
    if (reason !== null) {
      await search.database.query(
        `INSERT INTO ct_revocation (crl, issuer, serial, revoked_at, reason)
         SELECT crl, issuer, serial, '2026-11-19T08:00:00Z', $2 FROM ct_issuance WHERE position = $1`,
        [id, reason],
      );
    }
    return (await search.get(`/v1/issuances/${id}?expand=revocation`)).json;
  }

  it('is unknown without a list', async () => {
    const { json } = await shown({}, 'revocation');
    expect(json).toMatchObject({ revoked: null, revocation: { time: null, reason: null, checked_at: null } });
  });

  it('is false when the certificate is not on its list', async () => {
    expect(await listed('good.example.com', null)).toMatchObject({
      revoked: false,
      revocation: { time: null, reason: null, checked_at: '2026-11-20T10:00:00Z' },
    });
  });

  it('is unknown until a list was requested after the discovery', async () => {
    expect(await listed('new.example.com', null, '2026-11-20T10:00:01Z')).toMatchObject({
      revoked: null,
      revocation: { time: null, reason: null, checked_at: null },
    });
  });

  it('is true when the certificate is on a list, whenever it was discovered', async () => {
    expect(await listed('early.example.com', 1, '2026-11-20T10:00:01Z')).toMatchObject({ revoked: true });
    expect(await listed('bad.example.com', 1)).toMatchObject({
      revoked: true,
      revocation: { time: '2026-11-19T08:00:00Z', reason: 1, checked_at: '2026-11-20T10:00:00Z' },
    });
  });
});

it('is not false by a list that is stored while the certificate is retrieved and revokes it', async () => {
  const { database } = search;
  const url = 'http://crl.example.com/meanwhile.crl';
  const [id = ''] = await search.store(anIssuance('meanwhile.example.com', { crlUrl: url }));
  const sinceMs = performance.now();
  const reader = {
    query: async <T>(text: string, values?: unknown[]) => (await database.query(text, values)) as T,
  };
  const issuance = await issuanceAt(readingAlone(reader), id);
  if (issuance === null) throw new Error('it is stored');
  await database.query(
    `INSERT INTO ct_revocation (crl, issuer, serial, revoked_at, reason)
     SELECT crl, issuer, serial, now(), 1 FROM ct_issuance WHERE position = $1`,
    [id],
  );
  await database.query(
    `UPDATE ct_crl SET covers = true, fresh_until = now() + interval '1 day', checked_at = now() + interval '1 second'
     WHERE url = $1`,
    [url],
  );
  const present = new PresentIssuances(new KnownIssuers(), new KnownCoverage());
  const json = await present.one(reader, issuance, issuanceExpansion(['revocation']), sinceMs);
  expect(JSON.parse(json)).toMatchObject({ revoked: true, revocation: { reason: 1 } });
});

describe('GET /issuances/{id}', () => {
  it('also retrieves an expired one', async () => {
    const end = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 1_000);
    const [id] = await search.store(anIssuance('gone.example.com', { notAfter: end }));
    expect((await search.get(`/v1/issuances/${id}/`)).json).toMatchObject({ id, revoked: null });
  });

  it.each([
    '0',
    '9223372036854775807',
    '9223372036854775808',
    'x',
    '-1',
    '1e3',
    '%31x',
    '__proto__',
    'a'.repeat(900),
  ])('returns 404 for %s', async (id) => {
    for (const form of ['', '.der', '.pem']) {
      const response = await search.get(`/v1/issuances/${id}${form}`);
      expect([response.status, response.json.code]).toEqual([404, 'not_found']);
    }
  });
});

it.each([
  ['huge to send', 6_000_000, 'cert_der'],
  ['much to read', 13_000_000, 'pubkey'],
])('ends a page early rather than make it %s, and links to the rest', async (_, padding, expand) => {
  const domain = `${expand.replace('_', '-')}.example.com`;
  const ids = await search.store(...[1, 2, 3].map(() => anIssuance(domain, { padding })));
  const query = { domain, expand };
  const first = await search.search(query);
  expect(first.json.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 2));
  expect(String(first.headers['link'])).toContain(`after=${ids[1]}>`);
  const second = await search.search({ ...query, after: ids[1] ?? '' });
  expect(second.json.map(({ id }: { id: string }) => id)).toEqual(ids.slice(2));
  expect(second.headers).not.toHaveProperty('link');
});

it('match the OpenAPI document', () => {
  const absent = search.documented.absentMembers();
  const ofIssuance = /^(Issuance|PublicKey|Issuer|Operator|Revocation|LoggedCertificate)\./;
  expect(absent.filter((member) => ofIssuance.test(member))).toEqual([]);
});
