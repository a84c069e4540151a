import { createHash, generateKeyPairSync } from 'node:crypto';
import { FailingDatabase } from '@certwright/core-testing';
import { CtDatabaseFixture } from '@certwright/ct-testing';
import { readCcadb } from './ccadb-records';
import { readCsv } from './csv';
import { issuerViews } from './issuer-profiles';
import { IssuerProfiles } from './keep-profiles';

jest.setTimeout(60_000);

let ct: CtDatabaseFixture;
let profiles: IssuerProfiles;
beforeAll(async () => {
  ct = await CtDatabaseFixture.open();
  profiles = new IssuerProfiles(ct.database);
});
afterAll(async () => await ct.close());
beforeEach(async () => await ct.database.query(`TRUNCATE ct_crl, ct_issuer_profile, ct_issuer`));

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();
const keyIdOf = (spkiDer: Buffer) => createHash('sha1').update(spkiDer.subarray(26)).digest();
const newKey = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'der' });

/** DER Name with an organization. */
function organization(text: string): Buffer {
  const tlv = (tag: number, ...parts: readonly Uint8Array[]) => {
    const body = Buffer.concat(parts);
    return Buffer.concat([Buffer.from([tag, body.length]), body]);
  };
  return tlv(
    0x30,
    tlv(0x31, tlv(0x30, tlv(0x06, Buffer.from('55040a', 'hex')), tlv(0x0c, Buffer.from(text)))),
  );
}

async function anIssuer(name: string, spkiDer = newKey(), certificateDer: Buffer | null = null) {
  const nameDer = organization(name);
  const [{ id }] = await ct.database.query<[{ id: number }]>(
    `INSERT INTO ct_issuer (spki_sha256, name_sha256, name_der, spki_der, certificate_der)
     VALUES ($1, $2, $3, $4, $5) RETURNING id`,
    [sha256(spkiDer), sha256(nameDer), nameDer, spkiDer, certificateDer],
  );
  return { id, spkiDer, keyId: keyIdOf(spkiDer).toString('base64') };
}

async function view(id: number) {
  const found = (await issuerViews(ct.database.manager, [id])).get(id);
  if (found === undefined) throw new Error('no issuer');
  const { friendlyName, website, caaDomains, operator, problemReporting } = found;
  return { friendlyName, website, caaDomains, operator, problemReporting };
}

const records = (...rows: readonly Readonly<Record<string, string>>[]) => {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  return [names, ...rows.map((row) => names.map((name) => row[name] ?? ''))]
    .map((fields) => fields.map(quoted).join(','))
    .join('\r\n');
};
const take = async (csv: string, asOf = '2026-11-01') =>
  await profiles.import(readCcadb(csv, asOf).records, { asOf, source: 'spec.csv' });

const nothing = {
  friendlyName: null,
  website: null,
  caaDomains: null,
  operator: null,
  problemReporting: null,
};
const fingerprint = (text: string) => sha256(Buffer.from(text)).toString('hex').toUpperCase();

describe('what is known of an issuer', () => {
  it('is nothing, until somebody says so', async () => {
    const { id } = await anIssuer('Unknown');
    expect(await view(id)).toEqual(nothing);
    expect((await issuerViews(ct.database.manager, [id + 1_000])).size).toBe(0);
  });

  it('of a large public CA is included, by the organization in its name', async () => {
    expect(await profiles.keepKnownOrganizations()).toBeGreaterThan(30);
    expect(await profiles.keepKnownOrganizations()).toBe(0);
    const { id } = await anIssuer("Let's Encrypt");
    expect(await view(id)).toEqual({
      friendlyName: "Let's Encrypt",
      website: 'https://letsencrypt.org/',
      caaDomains: ['letsencrypt.org'],
      operator: { name: 'Internet Security Research Group', website: 'https://www.abetterinternet.org/' },
      problemReporting: 'cert-prob-reports@letsencrypt.org',
    });
    const { id: other } = await anIssuer("Let's Encrypt\u0000 Ltd");
    expect(await view(other)).toEqual(nothing);
  });

  it('comes from CCADB for a key that its certificates name, seen before the import or after it', async () => {
    const before = await anIssuer('One');
    const csv = records(
      {
        'CA Owner': 'Owner Ltd',
        'SHA-256 Fingerprint': fingerprint('1'),
        'Subject Key Identifier': before.keyId,
      },
      { 'CA Owner': 'Other Ltd', 'SHA-256 Fingerprint': fingerprint('later') },
    );
    expect(await take(csv)).toEqual({
      added: 2,
      changed: 0,
      unchanged: 0,
      matched: 1,
      profiled: 1,
      issuers: 1,
    });
    expect(await view(before.id)).toMatchObject({
      friendlyName: 'Owner Ltd',
      operator: { name: 'Owner Ltd' },
    });
    const after = await anIssuer('Two', newKey(), Buffer.from('later'));
    expect(await view(after.id)).toEqual(nothing);
    expect(await profiles.match()).toBe(1);
    expect(await view(after.id)).toMatchObject({ friendlyName: 'Other Ltd' });
    expect(await profiles.match()).toBe(0);
  });

  it('is put together from the key and the organization', async () => {
    await profiles.keepKnownOrganizations();
    const { id, keyId } = await anIssuer('ZeroSSL');
    await take(
      records({
        'CA Owner': 'Sectigo',
        'Subject Key Identifier': keyId,
        'CAA Identifiers': 'sectigo.com; Example.ORG',
      }),
    );
    expect(await view(id)).toMatchObject({
      friendlyName: 'ZeroSSL',
      caaDomains: ['sectigo.com', 'example.org'],
      operator: { name: 'Sectigo', website: null },
      problemReporting: 'sslabuse@sectigo.com',
    });
  });

  it('is not claimed by a certificate that only states an identifier', async () => {
    const realKey = newKey();
    const forger = await anIssuer('Forger');
    const keyId = keyIdOf(realKey).toString('base64');
    await take(records({ 'CA Owner': 'Real Ltd', 'Subject Key Identifier': keyId }));
    expect(await view(forger.id)).toEqual(nothing);
    const real = await anIssuer('Real', realKey);
    expect(await profiles.match()).toBe(1);
    expect(await view(real.id)).toMatchObject({ friendlyName: 'Real Ltd' });
  });
});

describe('an import', () => {
  it('run twice changes nothing the second time, and tells what it changed', async () => {
    const { id, keyId } = await anIssuer('One');
    const row = {
      'CA Owner': 'Owner Ltd',
      'SHA-256 Fingerprint': fingerprint('1'),
      'Subject Key Identifier': keyId,
    };
    const crl = { 'Full CRL Issued By This CA': 'http://a/1.crl', 'JSON Array of Partitioned CRLs': '' };
    expect(await take(records({ ...row, ...crl }))).toMatchObject({ added: 1, matched: 1 });
    const rows = async () => await ct.database.query(`SELECT * FROM ct_issuer_profile`);
    const before = await rows();
    expect(await take(records({ ...row, ...crl }))).toMatchObject({
      added: 0,
      changed: 0,
      unchanged: 1,
      matched: 0,
    });
    expect(await rows()).toEqual(before);
    const parts = {
      'Full CRL Issued By This CA': 'expired',
      'JSON Array of Partitioned CRLs': '["http://a/2.crl", "https://a/3.crl"]',
    };
    expect(await take(records({ ...row, ...parts }))).toMatchObject({ changed: 1 });
    expect(await ct.database.query(`SELECT url, role, issuer FROM ct_crl ORDER BY url`)).toEqual([
      { url: 'http://a/1.crl', role: null, issuer: id },
      { url: 'http://a/2.crl', role: 'partition', issuer: id },
      { url: 'https://a/3.crl', role: 'partition', issuer: id },
    ]);
  });

  it('leaves what its file has no column for, and forgets what its column leaves empty', async () => {
    const { id, keyId } = await anIssuer('One');
    const hex = Buffer.from(keyId, 'base64').toString('hex');
    await take(records({ 'CA Owner': 'Owner Ltd', 'Subject Key Identifier': keyId }));
    await take(
      records({
        Subject: 'O=One',
        'Subject Key Identifier (Hex)': hex,
        'Recognized CAA Domains': 'one.example',
      }),
    );
    await take(records({ 'CA Owner': 'Owner Ltd', 'Problem Reporting Mechanism': 'abuse@one.example' }));
    expect(await view(id)).toEqual({
      friendlyName: 'Owner Ltd',
      website: null,
      caaDomains: ['one.example'],
      operator: { name: 'Owner Ltd', website: null },
      problemReporting: 'abuse@one.example',
    });
    await take(records({ 'Subject Key Identifier (Hex)': hex, 'Recognized CAA Domains': '' }));
    expect(await view(id)).toMatchObject({ caaDomains: null, problemReporting: 'abuse@one.example' });
  });

  it('takes several certificates with one key together, without the lists of those that are over', async () => {
    const keyId = Buffer.alloc(20, 7).toString('base64');
    const row = (nth: string, list: string, more: Record<string, string> = {}) => ({
      'CA Owner': 'Owner Ltd',
      'SHA-256 Fingerprint': fingerprint(nth),
      'Subject Key Identifier': keyId,
      'JSON Array of All Full CRL URLs': `["http://a/${list}.crl"]`,
      'Valid To (GMT)': '2030.01.01',
      'Revocation Status': 'Not Revoked',
      ...more,
    });
    const csv = records(
      row('1', '1'),
      row('2', '2'),
      row('3', 'expired', { 'Valid To (GMT)': '2026.10.31' }),
      row('4', 'revoked', { 'Revocation Status': 'Parent Cert Revoked' }),
      row('1', '1'),
    );
    expect(await take(csv)).toMatchObject({ added: 1 });
    const [kept] = await ct.database.query<[{ full_crls: string[]; certificates: Buffer[] }]>(
      `SELECT * FROM ct_issuer_profile`,
    );
    expect(kept.full_crls).toEqual(['http://a/1.crl', 'http://a/2.crl']);
    expect(kept.certificates).toHaveLength(4);
  });

  it('that tells for the first time that two certificates have one key goes through', async () => {
    const row = (nth: string, keyId: string) => ({
      'SHA-256 Fingerprint': fingerprint(nth),
      'Subject Key Identifier': keyId,
    });
    await take(records(row('1', ''), row('2', '')));
    const keyId = Buffer.alloc(20, 7).toString('base64');
    expect(await take(records(row('1', keyId), row('2', keyId)))).toMatchObject({
      added: 0,
      changed: 1,
      unchanged: 1,
    });
  });

  it('that fails midway has changed nothing', async () => {
    const bad = { friendlyName: 'x', problemReporting: 'with \u0000 in it' };
    const record = (nth: number, facts: object) => ({
      ...{ line: nth, spkiSha256: null, certificateSha256: Buffer.alloc(32, nth), subjectKeyId: null },
      ...{ owner: null, facts },
    });
    const rows = [record(1, { friendlyName: 'a' }), record(2, bad)];
    await expect(profiles.import(rows, { asOf: '2026-11-01', source: 's' })).rejects.toThrow();
    expect(await ct.database.query(`SELECT FROM ct_issuer_profile`)).toEqual([]);
  });
});

describe('a process that is killed', () => {
  const asOf = '2026-11-01';
  const row = (id: string, keyId: string, caa: string) => ({
    ...{ 'CA Owner': 'Owner', 'SHA-256 Fingerprint': fingerprint(id), 'Subject Key Identifier': keyId },
    ...{ 'CAA Identifiers': caa, 'Full CRL Issued By This CA': `http://crl.example/${id}` },
  });
  const work = {
    import: async (each: IssuerProfiles, csv: string) =>
      void (await each.import(readCcadb(csv, asOf).records, { asOf, source: 'spec.csv' })),
    match: async (each: IssuerProfiles) => void (await each.match()),
    'keep the known organizations': async (each: IssuerProfiles) =>
      void (await each.keepKnownOrganizations()),
  };
  const stored = async () =>
    await ct.database.query<unknown[]>(
      `SELECT to_jsonb(profile) - 'id' AS profile FROM ct_issuer_profile AS profile
       UNION ALL SELECT to_jsonb(crl) - 'id' - 'due_at' FROM ct_crl AS crl ORDER BY 1`,
    );

  it.each(
    (['before', 'after'] as const).flatMap((when) =>
      Object.entries(work).map(([name, run]) => [name, when, run] as const),
    ),
  )('does all of “%s”, or nothing, %s a statement or COMMIT', async (_name, when, run) => {
    let nth = 1;
    for (let isKilled = true; isKilled; nth += 1) {
      await ct.database.query(`TRUNCATE ct_crl, ct_issuer_profile, ct_issuer`);
      const known = await anIssuer('Known');
      await take(records(row('changed', known.keyId, 'old.example'), row('same', 'AQ==', 'same.example')));
      const later = newKey();
      await anIssuer('Later', later, Buffer.from('same'));
      const csv = records(
        row('changed', known.keyId, 'new.example'),
        row('same', 'AQ==', 'same.example'),
        row('added', keyIdOf(later).toString('base64'), 'added.example'),
      );
      const before = await stored();
      const failing = new FailingDatabase(ct.database, nth, when);
      await run(new IssuerProfiles(failing.source), csv).catch((error: unknown) => {
        if (!failing.struck) throw error;
      });
      isKilled = failing.struck;
      const killed = await stored();
      await run(profiles, csv);
      const after = await stored();
      expect(after).not.toEqual(before);
      expect([before, after]).toContainEqual(killed);
      await run(profiles, csv);
      expect({ nth, repeated: await stored() }).toEqual({ nth, repeated: after });
    }
    expect(nth).toBeGreaterThan(4);
  });
});

describe('a file', () => {
  it('has fields with commas, quotation marks and line breaks, and lines that end in any way', () => {
    const rows = readCsv('\ufeffa,"b ""c"", d\r\ne"\n\n,\r\n"",x');
    expect(rows).toEqual([
      { line: 1, fields: ['a', 'b "c", d\r\ne'] },
      { line: 4, fields: ['', ''] },
      { line: 5, fields: ['', 'x'] },
    ]);
  });

  it.each([
    ['', 'Line 1: the file is empty'],
    ['a,b\n1,2', 'Line 1: no column tells'],
    ['CA Owner,x\nA,"b\nc"\nB,1,2', 'Line 4: 3 fields where the header has 2'],
    ['CA Owner,x\nA,"b\n', 'Line 2: a quotation mark is opened and never closed'],
    ['CA Owner,x\nA,b"c"', 'Line 2: a quotation mark is inside'],
    ['CA Owner,x\nA,"b"c', 'Line 2: there is text between'],
    ['CA Owner,SHA-256 Fingerprint\n"A\nB",12:34', 'Line 2: the fingerprint is no SHA-256'],
    ['X.509 Certificate (PEM)\n-----BEGIN', 'Line 2: the certificate is no PEM'],
    [
      'X.509 Certificate (PEM)\n-----BEGIN CERTIFICATE-----MAA=-----END CERTIFICATE-----',
      'Line 2: the certificate cannot be read',
    ],
  ])('that is wrong is refused, with the line: %j', (text, message) => {
    expect(() => readCcadb(text, '2026-11-01')).toThrow(message);
  });

  it('with something that is no URL where one belongs is read without it, and says so', () => {
    const csv = records({
      'SHA-256 Fingerprint': fingerprint('1'),
      'JSON Array of Partitioned CRLs': '["http://a/1.crl", "ldap://b"]',
    });
    const { records: read, warnings } = readCcadb(csv, '2026-11-01');
    expect(read[0]?.facts.partitionedCrls).toEqual(['http://a/1.crl']);
    expect(warnings).toEqual(['Line 2: json array of partitioned crls holds something that is no URL']);
  });

  it('of PEM tells the key itself', () => {
    const pem = `'-----BEGIN CERTIFICATE-----\n${certificate.match(/.{1,64}/g)?.join('\n')}\n-----END CERTIFICATE-----'`;
    const { records: read } = readCcadb(
      records({ 'SHA-256 Fingerprint': 'ignored', 'X.509 Certificate (PEM)': pem }),
      '2026-11-01',
    );
    expect(read[0]?.certificateSha256).toEqual(sha256(Buffer.from(certificate, 'base64')));
    expect(read[0]?.spkiSha256?.toString('hex')).toBe(spkiOfCertificate);
  });
});

/** As `openssl req -x509` made it, and `openssl x509 -pubkey | openssl pkey -pubin -outform der | sha256sum` read it. */
const certificate = [
  'MIIBcjCCARmgAwIBAgIUKFWcCOIsXZmDN6RLtsC/npezt4swCgYIKoZIzj0EAwIwDzENMAsGA1UECgwEU3BlYzAeFw0yNjEx',
  'MjIwMTAxMjZaFw0zNjExMTkwMTAxMjZaMA8xDTALBgNVBAoMBFNwZWMwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQpQGXu',
  'dmXRDU7FXsVikT0bOUNXJq2l07tZdELlZ5MhCoqQGTdg8930U/qLADjgYxns2czNfkMihArCw1eQ1gjho1MwUTAdBgNVHQ4E',
  'FgQUGJiss9GEcsKrJawzEO/SJ38f+7owHwYDVR0jBBgwFoAUGJiss9GEcsKrJawzEO/SJ38f+7owDwYDVR0TAQH/BAUwAwEB',
  '/zAKBggqhkjOPQQDAgNHADBEAiBFu8bm0O6TiU8Ta0HmZ3NZCvPPcrtPpf9HChs3cKblzgIgEuwSIMKxkOyLYu/EyulJPmvg',
  'bWyG8BnQ3BlGIGibDnM=',
].join('');
const spkiOfCertificate = '76bd9700b0a059390e1f1f85eafb398d8037d43f9260c1a25cab9477b2037e73';
