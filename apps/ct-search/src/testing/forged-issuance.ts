import { createHash, randomBytes } from 'node:crypto';
import { indexKeys, readIssued, tbsSha256 } from '@certwright/ct';
import { type NewIssuance, type NewIssuer, packBody } from '@certwright/ct-index';
import { type CertificateFields, forgeCertificate, nameOf, spki } from './forged-certificate';

const day = 86_400_000;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

/** Days from now, without fractions of a second. */
export const inDays = (days: number) => new Date(Math.floor(Date.now() / 1_000) * 1_000 + days * day);

export function issuerNamed(nameDer: Buffer, spkiDer: Buffer | null = spki.p384): NewIssuer {
  return {
    spkiSha256: spkiDer === null ? Buffer.alloc(32) : sha256(spkiDer),
    nameDer,
    certificateDer: null,
    spkiDer,
  };
}

const usualIssuer = issuerNamed(nameOf(['C', 'XX'], ['O', 'Example Trust, Inc.'], ['CN', 'Example CA 1']));

export interface IssuanceFields extends Partial<Omit<CertificateFields, 'names' | 'issuerName'>> {
  readonly issuer?: NewIssuer;
  /** Names in the index instead of the certificate's own ones, to simulate collisions of keys. */
  readonly keysOf?: readonly string[];
  readonly crlUrl?: string;
}

export interface ForgedIssuance extends NewIssuance {
  readonly der: Buffer;
}

/** An issuance for names, as it is read from a log. */
export function anIssuance(names: string | readonly string[], fields: IssuanceFields = {}): ForgedIssuance {
  const issuer = fields.issuer ?? usualIssuer;
  const certificate = {
    names: [names].flat(),
    issuerName: issuer.nameDer,
    spkiDer: spki.p256,
    notBefore: inDays(-1),
    notAfter: inDays(80),
    precertificate: false,
    serial: Buffer.concat([Buffer.from([1]), randomBytes(12)]),
    padding: 0,
    ...fields,
  };
  const der = forgeCertificate(certificate);
  const issued = readIssued(der, certificate.precertificate ? 'precertificate' : 'certificate');
  return {
    tbsSha256: tbsSha256(issued),
    certSha256: sha256(der).toString('hex'),
    precertificate: certificate.precertificate,
    spkiSha256: sha256(certificate.spkiDer).toString('hex'),
    issuer,
    crlUrl: fields.crlUrl ?? null,
    serial: Buffer.from(certificate.serial),
    notBefore: certificate.notBefore,
    notAfter: certificate.notAfter,
    dnsNames: issued.dnsNames,
    oddNames: issued.oddNames,
    nameKeys: indexKeys(fields.keysOf ?? issued.dnsNames),
    body: packBody(der, 'deflate'),
    der,
  };
}
