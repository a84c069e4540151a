import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import type { CertificateMessage } from '@certwright/agent-contract';
import { encodeInteger, encodeObjectIdentifier, encodeTime, encodeTlv } from '@certwright/pki';

const sequence = (...parts: readonly Uint8Array[]) => encodeTlv(0x30, ...parts);
const bits = (content: Uint8Array) => encodeTlv(0x03, Buffer.of(0), content);
const ecdsaWithSha256 = sequence(encodeObjectIdentifier('1.2.840.10045.4.3.2'));

function name(commonName: string): Uint8Array {
  const attribute = sequence(encodeObjectIdentifier('2.5.4.3'), encodeTlv(0x0c, Buffer.from(commonName)));
  return commonName === '' ? sequence() : sequence(encodeTlv(0x31, attribute));
}

const extension = (id: string, isCritical: boolean, value: Uint8Array) =>
  sequence(
    encodeObjectIdentifier(id),
    ...(isCritical ? [encodeTlv(0x01, Buffer.of(0xff))] : []),
    encodeTlv(0x04, value),
  );

interface Authority {
  readonly name: string;
  readonly key: KeyObject;
  readonly der: Buffer;
}

export interface Issued {
  readonly der: Buffer;
  readonly sha256: string;
  readonly spkiSha256: string;
  readonly message: CertificateMessage;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export interface TestKey {
  readonly privateKey: KeyObject;
  readonly pkcs8: Buffer;
  readonly spki: Buffer;
  readonly spkiSha256: string;
}

const sha256Hex = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

export function testKey(): TestKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const spki = createPublicKey(privateKey as never).export({ format: 'der', type: 'spki' });
  return {
    privateKey,
    pkcs8: privateKey.export({ format: 'der', type: 'pkcs8' }),
    spki,
    spkiSha256: sha256Hex(spki),
  };
}

const dayMs = 86_400_000;

/** A root and an intermediate, which sign in milliseconds. */
export class TestCa {
  private readonly root: Authority;
  private readonly intermediate: Authority;

  constructor(private readonly now = new Date()) {
    const rootKey = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
    const root = { name: 'Test Root', key: rootKey };
    this.root = {
      ...root,
      der: this.certificate({ subject: root.name, key: rootKey, by: root, isCa: true }),
    };
    const key = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
    this.intermediate = {
      name: 'Test Issuer',
      key,
      der: this.certificate({ subject: 'Test Issuer', key, by: root, isCa: true }),
    };
  }

  get rootPem(): string {
    return `-----BEGIN CERTIFICATE-----\n${this.root.der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
  }

  /** @param spki DER SubjectPublicKeyInfo */
  issue(
    spki: Uint8Array,
    dnsNames: readonly string[],
    {
      days = 90,
      notBefore = new Date(this.now.getTime() - 3_600_000),
      addresses = [] as readonly number[][],
    } = {},
  ): Issued {
    const notAfter = new Date(Math.floor((notBefore.getTime() + days * dayMs) / 1000) * 1000);
    const der = this.certificate({
      subject: '',
      spki,
      by: this.intermediate,
      dnsNames,
      notBefore,
      notAfter,
      addresses,
    });
    return {
      der,
      sha256: sha256Hex(der),
      spkiSha256: sha256Hex(spki),
      message: {
        leaf: der.toString('base64'),
        chain: [this.intermediate.der.toString('base64')],
        root: this.root.der.toString('base64'),
      },
      notBefore,
      notAfter,
    };
  }

  private certificate(parts: {
    readonly subject: string;
    readonly by: Pick<Authority, 'name' | 'key'>;
    readonly key?: KeyObject;
    readonly spki?: Uint8Array;
    readonly isCa?: boolean;
    readonly dnsNames?: readonly string[];
    readonly addresses?: readonly number[][];
    readonly notBefore?: Date;
    readonly notAfter?: Date;
  }): Buffer {
    const { notBefore = new Date(this.now.getTime() - 30 * dayMs), dnsNames = [], addresses = [] } = parts;
    const notAfter = parts.notAfter ?? new Date(this.now.getTime() + 3650 * dayMs);
    const spki = parts.spki ?? createPublicKey(parts.key as never).export({ format: 'der', type: 'spki' });
    const names = sequence(
      ...dnsNames.map((each) => encodeTlv(0x82, Buffer.from(each))),
      ...addresses.map((each) => encodeTlv(0x87, Buffer.from(each))),
    );
    const extensions = sequence(
      extension(
        '2.5.29.19',
        true,
        parts.isCa === true ? sequence(encodeTlv(0x01, Buffer.of(0xff))) : sequence(),
      ),
      ...(dnsNames.length + addresses.length > 0 ? [extension('2.5.29.17', true, names)] : []),
    );
    const tbs = sequence(
      encodeTlv(0xa0, encodeInteger(2n)),
      encodeInteger(BigInt(`0x${randomBytes(15).toString('hex')}`) + 1n),
      ecdsaWithSha256,
      name(parts.by.name),
      sequence(encodeTime(notBefore), encodeTime(notAfter)),
      name(parts.subject),
      spki,
      encodeTlv(0xa3, extensions),
    );
    return Buffer.from(sequence(tbs, ecdsaWithSha256, bits(sign('sha256', tbs, parts.by.key))));
  }
}
