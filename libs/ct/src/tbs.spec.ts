import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { logIdentity } from '@certwright/pki';
import { Certificate } from 'pkijs';
import { leafHash, readDataTile, readEntry, readIssued, tbsSha256, transparencyTbs } from './index';
import {
  alternativeNames,
  commonName,
  dns,
  endless,
  extension,
  forgeCertificate,
  forgeTbs,
  hex,
  keyId,
  keyUsage,
  poison,
  sctList,
  seq,
  signed,
  tbsParts,
  tlv,
} from './testing/forge';

const data = (name: string) => readFileSync(join(__dirname, 'testing/data', name));
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

const certificateDigest = (der: Uint8Array) => tbsSha256(readIssued(der, 'certificate'));
const precertificateDigest = (der: Uint8Array) => tbsSha256(readIssued(der, 'precertificate'));
const leafDigest = (tbs: Uint8Array) => tbsSha256(readIssued(tbs, 'tbs'));

describe('the reference pair of RFC 6962', () => {
  const [certificate, precertificate, issuer] = ['cert', 'pre-cert', 'issuer'].map(
    (kind) => new X509Certificate(data(`test-embedded-${kind}.pem`)),
  );

  it('has one digest', () => {
    expect(certificateDigest(certificate!.raw)).toBe(precertificateDigest(precertificate!.raw));
    const tbsSha256 = certificateDigest(certificate!.raw);
    expect(logIdentity(certificate!.raw)).toEqual({ tbsSha256, hasSctList: true });
    expect(logIdentity(precertificate!.raw)).toEqual({ tbsSha256, hasSctList: false });
    expect(readIssued(certificate!.raw, 'certificate')).toMatchObject({ hasSctList: true, faults: [] });
    expect(readIssued(precertificate!.raw, 'precertificate')).toMatchObject({ hasPoison: true, faults: [] });
  });

  it('has the leaf hash that the reference implementation gives', () => {
    const issuerKey = issuer!.publicKey.export({ type: 'spki', format: 'der' });
    const tbs = transparencyTbs(readIssued(precertificate!.raw, 'precertificate'))!;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(tbs.length);
    const leaf = [hex('0000'), hex('0000013ddb27df93'), hex('0001'), hex(sha256(issuerKey))];
    const hash = leafHash(Buffer.concat([...leaf, length.subarray(1), tbs, hex('0000')]));
    expect(hash.toString('base64')).toBe('mbk+d5FDW3oNZJCbOi828rqC3hf+qhigTWVGcXEZq1U=');
  });
});

describe('entries of a real log', () => {
  const reading = readDataTile(data('navigli2025h2-000.tile'), { index: 0, width: 256 });
  const entries = reading.ok ? reading.entries : [];

  it('have the TBSCertificate of their leaf, as the log made it from the precertificate', () => {
    expect(entries).toHaveLength(256);
    for (const entry of entries) {
      if (entry.type !== 'precertificate') throw new Error('not a precertificate');
      expect(tbsSha256(readEntry(entry))).toBe(sha256(entry.tbsDer));
      const precertificate = readIssued(entry.precertificateDer, 'precertificate');
      expect(transparencyTbs(precertificate)).toEqual(entry.tbsDer);
      expect(logIdentity(entry.precertificateDer).tbsSha256).toBe(sha256(entry.tbsDer));
    }
  });

  it('have the TBSCertificate that pkijs makes without the poison', () => {
    for (const entry of entries.slice(0, 32)) {
      if (entry.type !== 'precertificate') throw new Error('not a precertificate');
      const theirs = Certificate.fromBER(entry.precertificateDer);
      theirs.extensions = theirs.extensions?.filter(({ extnID }) => extnID !== '1.3.6.1.4.1.11129.2.4.3');
      const ours = transparencyTbs(readIssued(entry.precertificateDer, 'precertificate'));
      expect(ours).toEqual(Buffer.from(theirs.encodeTBS().toBER()));
    }
  });
});

describe('poison and SCT list are removed at any position', () => {
  const names = alternativeNames(...Array.from({ length: 5 }, (_, i) => dns(`n${i}.example.com`)));
  const plain = forgeTbs({ extensions: [keyUsage, names] });

  it.each<[string, Buffer[]]>([
    ['first', [poison, keyUsage, names]],
    ['between', [keyUsage, poison, names]],
    ['last', [keyUsage, names, poison]],
    ['SCT list', [keyUsage, names, sctList]],
    ['both', [sctList, keyUsage, poison, names]],
    ['both, next to each other', [keyUsage, poison, sctList, names]],
    ['each twice', [poison, sctList, keyUsage, sctList, poison, names]],
    ['neither', [keyUsage, names]],
  ])('%s', (_where, extensions) => {
    const tbs = forgeTbs({ extensions });
    expect(leafDigest(tbs)).toBe(sha256(plain));
    expect(certificateDigest(signed(tbs))).toBe(sha256(plain));
    expect(precertificateDigest(signed(tbs))).toBe(sha256(plain));
    expect(logIdentity(signed(tbs))).toEqual({
      tbsSha256: sha256(plain),
      hasSctList: extensions.includes(sctList),
    });
  });

  it('encloses the rest in minimal lengths, on either side of 128 and 256', () => {
    for (let size = 1; size < 300; size++) {
      const other = extension(hex('2a0304'), Buffer.alloc(size));
      const expected = forgeTbs({ extensions: [other] });
      expect(leafDigest(forgeTbs({ extensions: [other, sctList] }))).toBe(sha256(expected));
    }
    const large = extension(hex('2a0304'), Buffer.alloc(70_000));
    expect(leafDigest(forgeTbs({ extensions: [poison, large] }))).toBe(
      sha256(forgeTbs({ extensions: [large] })),
    );
  });

  it('omits an extension list that becomes empty', () => {
    expect(leafDigest(forgeTbs({ extensions: [poison] }))).toBe(sha256(forgeTbs({ extensions: null })));
  });

  it('keeps everything else byte for byte, well encoded or not', () => {
    const odd = { serial: tlv(0x02, hex('0000ff')), tail: hex('dead00'), subject: seq(commonName('x y')) };
    expect(leafDigest(forgeTbs({ ...odd, extensions: [poison, names] }))).toBe(
      sha256(forgeTbs({ ...odd, extensions: [names] })),
    );
    const longLength = Buffer.concat([hex('0482000100')]);
    const withBer = seq(tlv(0x06, hex('2a0304')), longLength);
    expect(leafDigest(forgeTbs({ extensions: [withBer, poison] }))).toBe(
      sha256(forgeTbs({ extensions: [withBer] })),
    );
  });

  it('also keeps non-DER lengths if nothing is removed', () => {
    const tbs = endless(0x30, ...tbsParts({ extensions: [names] }));
    expect(leafDigest(tbs)).toBe(sha256(tbs));
    expect(certificateDigest(endless(0x30, tbs))).toBe(sha256(tbs));
  });

  it('replaces indefinite lengths by definite ones', () => {
    const wrapper = endless(0xa3, endless(0x30, names, poison));
    const tbs = endless(0x30, ...tbsParts({ wrapper }));
    expect(leafDigest(tbs)).toBe(sha256(forgeTbs({ extensions: [names] })));
  });
});

it('identifies the issuance by the leaf, not by the precertificate, with a precertificate signing certificate', () => {
  const common = { serial: tlv(0x02, hex('77')) };
  const names = alternativeNames(dns('example.com'));
  const certificate = forgeCertificate({ ...common, extensions: [keyId('aa'), names, sctList] });
  const precertificate = forgeCertificate({
    ...common,
    issuer: seq(commonName('Issuer for precertificates')),
    extensions: [keyId('bb'), names, poison],
  });
  // RFC 6962, section 3.2: the log puts issuer and key identifier of the final issuer into the leaf.
  const leaf = forgeTbs({ ...common, extensions: [keyId('aa'), names] });
  expect(leafDigest(leaf)).toBe(certificateDigest(certificate));
  expect(precertificateDigest(precertificate)).not.toBe(certificateDigest(certificate));
});

it('digests all bytes without a TBSCertificate', () => {
  for (const bytes of [Buffer.alloc(0), hex('00'), hex('0400'), Buffer.from('-----BEGIN')]) {
    expect(certificateDigest(bytes)).toBe(sha256(bytes));
    expect(logIdentity(bytes)).toEqual({ tbsSha256: sha256(bytes), hasSctList: false });
  }
});
