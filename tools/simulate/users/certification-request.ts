import { createHash, generateKeyPairSync, sign } from 'node:crypto';

export interface MadeRequest {
  /** PKCS #10, DER. */
  readonly der: Buffer;
  /** SHA-256 over the DER SubjectPublicKeyInfo, hex. */
  readonly spkiSha256: string;
}

/** A CSR with a fresh P-256 key, a subject of C and CN, and every name in its SAN extension. */
export function certificationRequest(dnsNames: readonly string[]): MadeRequest {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const subject = sequence(attribute('550406', 0x13, 'GB'), attribute('550403', 0x0c, dnsNames[0] ?? ''));
  const names = sequence(...dnsNames.map((name) => tlv(0x82, Buffer.from(name))));
  const extensions = sequence(sequence(oid('551d11'), tlv(0x04, names)));
  const attributes = tlv(0xa0, sequence(oid('2a864886f70d01090e'), tlv(0x31, extensions)));
  const info = sequence(tlv(0x02, Buffer.of(0)), subject, spki, attributes);
  const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
  const signature = tlv(0x03, Buffer.of(0), sign('sha256', info, privateKey));
  return {
    der: sequence(info, ecdsaWithSha256, signature),
    spkiSha256: createHash('sha256').update(spki).digest('hex'),
  };
}

export function pemOf({ der }: MadeRequest): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE REQUEST-----', ...lines, '-----END CERTIFICATE REQUEST-----', ''].join(
    '\n',
  );
}

const attribute = (type: string, tag: number, value: string) =>
  tlv(0x31, sequence(oid(type), tlv(tag, Buffer.from(value))));
const oid = (hex: string) => tlv(0x06, Buffer.from(hex, 'hex'));
const sequence = (...contents: readonly Uint8Array[]) => tlv(0x30, ...contents);

function tlv(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
