import { generateKeyPairSync } from 'node:crypto';
import { objectId, sequence, tlv } from '@certwright/testing';

const text = (tag: number, value: string) => tlv(tag, Buffer.from(value));
const time = (date: Date) => text(0x18, `${date.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`);
const ecdsaWithSha256 = sequence(objectId('2a8648ce3d040302'));
const poison = sequence(
  objectId('2b06010401d679020403'),
  tlv(0x01, Buffer.from([0xff])),
  tlv(0x04, tlv(0x05)),
);

/** A Name from its most general attribute down: `['C', 'US']`. */
export function nameOf(...attributes: readonly (readonly [keyof typeof attributeTypes, string])[]): Buffer {
  return sequence(
    ...attributes.map(([type, value]) =>
      tlv(0x31, sequence(objectId(attributeTypes[type]), text(0x0c, value))),
    ),
  );
}

const attributeTypes = { C: '550406', O: '55040a', CN: '550403' } as const;

export const spki = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ type: 'spki', format: 'der' }),
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'der' }),
  p384: generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ type: 'spki', format: 'der' }),
  ed25519: generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'der' }),
} as const;

export interface CertificateFields {
  readonly names: readonly string[];
  readonly issuerName: Uint8Array;
  readonly spkiDer: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly precertificate: boolean;
  readonly serial: Uint8Array;
  /** Bytes of an unknown extension. */
  readonly padding: number;
}

/** With an invalid signature: it is never verified. */
export function forgeCertificate(fields: CertificateFields): Buffer {
  const names = sequence(...fields.names.map((name) => text(0x82, name)));
  const extensions = [sequence(objectId('551d11'), tlv(0x04, names))];
  if (fields.padding > 0)
    extensions.push(sequence(objectId('2a030405'), tlv(0x04, Buffer.alloc(fields.padding, 0x5a))));
  if (fields.precertificate) extensions.push(poison);
  const tbs = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, fields.serial),
    ecdsaWithSha256,
    fields.issuerName,
    sequence(time(fields.notBefore), time(fields.notAfter)),
    sequence(),
    fields.spkiDer,
    tlv(0xa3, sequence(...extensions)),
  );
  return sequence(tbs, ecdsaWithSha256, tlv(0x03, Buffer.from([0]), Buffer.alloc(70, 0x77)));
}
