import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { parseDer } from '../der/der-element';
import { encodeInteger, encodeObjectIdentifier, encodeTime, encodeTlv } from '../der/der-writer';
import { extensionIds } from '../extensions';
import { type KeyType, keyTypeOf, readSubjectPublicKey } from '../keys/subject-public-key';

export interface TemporaryCertificateContent {
  /** DER of the SubjectPublicKeyInfo, of the key that the server has. */
  readonly spkiDer: Uint8Array;
  /** In normal form; the common name first. */
  readonly dnsNames: readonly string[];
  /** Seconds count. */
  readonly validFrom: Date;
}

/** Longer than any approval takes; an expired one makes a problem obvious. */
const lifetimeMs = 90 * 86_400_000;

/**
 * A certificate for starting a web server while the real one is still being issued. It is for the server's own key,
 * so that only the certificate is exchanged later. It is not trusted, by design: the signing key is public, since it
 * is derived from a constant. Ed25519 is deterministic, so every request returns the same certificate, on every
 * machine, and no secret is stored. Subject and issuer are the same, so that it is recognized as self-signed.
 *
 * @returns DER
 * @throws DerError when the key is not a SubjectPublicKeyInfo
 */
export function temporaryCertificate(content: TemporaryCertificateContent): Uint8Array {
  const keyType = keyTypeOf(readSubjectPublicKey(parseDer(content.spkiDer)).key);
  const name = distinguishedName(content.dnsNames[0]);
  const notAfter = new Date(content.validFrom.getTime() + lifetimeMs);
  const afterSerial = [
    signatureAlgorithm,
    name,
    sequence(encodeTime(content.validFrom), encodeTime(notAfter)),
    name,
    content.spkiDer,
    encodeTlv(0xa3, sequence(...extensionsFor(content.dnsNames, keyType))),
  ];
  const tbs = sequence(version3, serialOf(afterSerial), ...afterSerial);
  return sequence(tbs, signatureAlgorithm, bitString(sign(null, tbs, (signingKey ??= openKey()))));
}

const sequence = (...parts: readonly Uint8Array[]) => encodeTlv(0x30, ...parts);
const octetString = (content: Uint8Array) => encodeTlv(0x04, content);
const bitString = (content: Uint8Array, unusedBits = 0) => encodeTlv(0x03, Buffer.of(unusedBits), content);

const version3 = encodeTlv(0xa0, encodeInteger(2n));

/** RFC 8410, section 3: the algorithm has no parameters. */
const signatureAlgorithm = sequence(encodeObjectIdentifier('1.3.101.112'));

const organization = 'Temporary certificate, not trusted';

/** ub-common-name (RFC 5280, appendix A.1). The alternative names are the relevant ones. */
const maxCommonNameLength = 64;

function distinguishedName(commonName: string | undefined): Uint8Array {
  const attribute = (type: string, value: string) =>
    encodeTlv(0x31, sequence(encodeObjectIdentifier(type), encodeTlv(0x0c, Buffer.from(value))));
  const fits = commonName !== undefined && commonName.length <= maxCommonNameLength;
  return sequence(attribute('2.5.4.10', organization), ...(fits ? [attribute('2.5.4.3', commonName)] : []));
}

/**
 * A digest over all other fields, since issuer and serial number together identify a certificate (section 4.1.2.2).
 */
function serialOf(parts: readonly Uint8Array[]): Uint8Array {
  const digest = createHash('sha256').update(Buffer.concat(parts)).digest('hex');
  // Positive and minimal, whatever the digest: the first two bits are 01.
  const first = (parseInt(digest.slice(0, 2), 16) & 0x3f) | 0x40;
  return encodeInteger(BigInt(`0x${first.toString(16)}${digest.slice(2, 32)}`));
}

/** KeyUsage bits as bytes and the number of unused bits (section 4.2.1.3): RSA keys also need keyEncipherment. */
const keyUsages = {
  rsa: bitString(Buffer.of(0xa0), 5),
  ecdsa: bitString(Buffer.of(0x80), 7),
} as const satisfies Record<KeyType, Uint8Array>;

function extensionsFor(dnsNames: readonly string[], keyType: KeyType = 'ecdsa'): readonly Uint8Array[] {
  const names = dnsNames.map((name) => encodeTlv(0x82, Buffer.from(name, 'latin1')));
  return [
    extension('2.5.29.15', keyUsages[keyType], 'critical'),
    extension(extensionIds.extendedKeyUsage, sequence(encodeObjectIdentifier(serverAuth))),
    // An empty sequence: not a CA (section 4.2.1.9).
    extension(extensionIds.basicConstraints, sequence(), 'critical'),
    extension(extensionIds.subjectAlternativeName, sequence(...names)),
  ];
}

/** id-kp-serverAuth (section 4.2.1.12). */
const serverAuth = '1.3.6.1.5.5.7.3.1';

function extension(id: string, value: Uint8Array, critical?: 'critical'): Uint8Array {
  const isCritical = critical === undefined ? [] : [encodeTlv(0x01, Buffer.of(0xff))];
  return sequence(encodeObjectIdentifier(id), ...isCritical, octetString(value));
}

/** PKCS #8 of an Ed25519 key (RFC 8410, section 7) whose 32 bytes are the digest of the public text here. */
function openKey(): KeyObject {
  const seed = createHash('sha256')
    .update('certwright: temporary certificates, not trusted by anybody')
    .digest();
  const head = Buffer.from('302e020100300506032b657004220420', 'hex');
  return createPrivateKey({ key: Buffer.concat([head, seed]), format: 'der', type: 'pkcs8' });
}

let signingKey: KeyObject | undefined;
