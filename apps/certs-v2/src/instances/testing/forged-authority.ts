import { sign } from 'node:crypto';
import { encodePem } from '@certwright/pki';
import { type KeyPair, keyPair, objectId, sequence, spkiOf, tlv } from '@certwright/testing';
import { pubkeyHash } from '../../testing/certificate-request';

/** What a forged certificate is for. */
export interface CertificateOptions {
  readonly dnsNames?: readonly string[];
  readonly keys?: KeyPair;
  readonly isCa?: boolean;
  /** Default `1.3.6.1.5.5.7.3.1`; null: no such extension. */
  readonly usage?: 'server' | 'client' | null;
  readonly isPrecertificate?: boolean;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  /** The certificate says that this one has issued it; whose key signed it, is another matter. */
  readonly issuerName?: string;
}

export interface ForgedCertificate {
  readonly der: Buffer;
  readonly pem: string;
  readonly keys: KeyPair;
  /** SHA-256 over the DER SubjectPublicKeyInfo, lower-case hex. */
  readonly pubkeyHash: string;
}

/** A certificate and a key that sign others. */
export interface ForgedAuthority extends ForgedCertificate {
  readonly name: string;
  /** An end entity. */
  issue(options: CertificateOptions): ForgedCertificate;
  /** An authority beneath it. */
  subordinate(name: string, options?: CertificateOptions): ForgedAuthority;
}

const dayMs = 86_400_000;
export const inDays = (days: number) => new Date(Math.floor(Date.now() / 1_000) * 1_000 + days * dayMs);

export function forgedRoot(name: string, options: CertificateOptions = {}): ForgedAuthority {
  const keys = options.keys ?? keyPair('p256');
  const der = certificate(
    name,
    keys,
    { name: options.issuerName ?? name, keys },
    { ...options, isCa: options.isCa ?? true },
  );
  return authority(name, keys, der);
}

function authority(name: string, keys: KeyPair, der: Buffer): ForgedAuthority {
  const made = (subject: string, options: CertificateOptions): ForgedCertificate => {
    const own = options.keys ?? keyPair('p256');
    return forged(certificate(subject, own, { name: options.issuerName ?? name, keys }, options), own);
  };
  return {
    ...forged(der, keys),
    name,
    issue: (options) => made(options.dnsNames?.[0] ?? 'unnamed', options),
    subordinate: (subject, options = {}) => {
      const { der: own, keys: ownKeys } = made(subject, { isCa: true, ...options });
      return authority(subject, ownKeys, own);
    },
  };
}

function forged(der: Buffer, keys: KeyPair): ForgedCertificate {
  return { der, pem: encodePem('CERTIFICATE', der), keys, pubkeyHash: pubkeyHash(keys) };
}

let serial = 0;

function certificate(
  subject: string,
  keys: KeyPair,
  issuer: { readonly name: string; readonly keys: KeyPair },
  options: CertificateOptions,
): Buffer {
  const { dnsNames = [], isCa = false, usage = isCa ? null : 'server', notBefore, notAfter } = options;
  const extensions = [
    ...(options.isPrecertificate === true ? [extension('2b06010401d679020403', tlv(0x05))] : []),
    ...(dnsNames.length === 0
      ? []
      : [extension('551d11', sequence(...dnsNames.map((name) => tlv(0x82, Buffer.from(name)))))]),
    ...(usage === null
      ? []
      : [
          extension(
            '551d25',
            sequence(objectId(usage === 'server' ? '2b06010505070301' : '2b06010505070302')),
          ),
        ]),
    ...(isCa ? [extension('551d13', sequence(tlv(0x01, Buffer.of(0xff))))] : []),
  ];
  const body = sequence(
    tlv(0xa0, tlv(0x02, Buffer.of(2))),
    tlv(0x02, Buffer.of(0x01, ((serial += 1) >> 8) & 0xff, serial & 0xff)),
    ecdsaWithSha256,
    nameOf(issuer.name),
    sequence(utcTime(notBefore ?? inDays(-1)), utcTime(notAfter ?? inDays(90))),
    nameOf(subject),
    spkiOf(keys.publicKey),
    tlv(0xa3, sequence(...extensions)),
  );
  return sequence(
    body,
    ecdsaWithSha256,
    tlv(0x03, Buffer.of(0), sign('sha256', body, issuer.keys.privateKey)),
  );
}

const extension = (hex: string, value: Buffer): Buffer => sequence(objectId(hex), tlv(0x04, value));
const ecdsaWithSha256 = sequence(objectId('2a8648ce3d040302'));
const nameOf = (text: string): Buffer =>
  sequence(tlv(0x31, sequence(objectId('550403'), tlv(0x0c, Buffer.from(text)))));
const utcTime = (at: Date): Buffer =>
  tlv(0x17, Buffer.from(`${at.toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));
