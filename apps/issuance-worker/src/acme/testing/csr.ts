import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

export interface MadeCsr {
  /** PKCS#10, DER. */
  readonly csr: Buffer;
  readonly key: KeyObject;
}

/** A CSR with a new P-256 key, an empty subject, and every name as a subject alternative name. */
export function makeCsr(dnsNames: readonly string[]): MadeCsr {
  const { privateKey: key, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const names = sequence(...dnsNames.map((name) => tlv(0x82, Buffer.from(name, 'latin1'))));
  const extensions = sequence(sequence(oid('551d11'), tlv(0x04, names)));
  const attributes = tlv(0xa0, sequence(oid('2a864886f70d01090e'), tlv(0x31, extensions)));
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  const info = sequence(tlv(0x02, Buffer.of(0)), sequence(), spki, attributes);
  const signature = tlv(0x03, Buffer.concat([Buffer.of(0), sign('sha256', info, key)]));
  const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
  return { csr: sequence(info, ecdsaWithSha256, signature), key };
}

function tlv(tag: number, content: Uint8Array): Buffer {
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

const sequence = (...parts: readonly Uint8Array[]) => tlv(0x30, Buffer.concat(parts));
const oid = (content: string) => tlv(0x06, Buffer.from(content, 'hex'));
