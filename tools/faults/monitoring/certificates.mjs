// @ts-check
// A CA that issues certificates with any names and texts.
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const DAY_MS = 86_400_000;

/**
 * @param {number} tag
 * @param {...Uint8Array} content
 */
function tlv(tag, ...content) {
  const bytes = Buffer.concat(content);
  const length = bytes.length.toString(16);
  const lengthBytes = Buffer.from(length.length % 2 === 0 ? length : `0${length}`, 'hex');
  const prefix = bytes.length < 0x80 ? [] : [0x80 | lengthBytes.length];
  return Buffer.concat([Buffer.of(tag, ...prefix), lengthBytes, bytes]);
}

/** @param {...Uint8Array} content */
const sequence = (...content) => tlv(0x30, ...content);
/** @param {string} hex content of the OBJECT IDENTIFIER */
const identifier = (hex) => tlv(0x06, Buffer.from(hex, 'hex'));
const ecdsaWithSha256 = sequence(identifier('2a8648ce3d040302'));

/** @param {string} organization */
const nameOf = (organization) =>
  sequence(tlv(0x31, sequence(identifier('55040a'), tlv(0x0c, Buffer.from(organization)))));

/** @param {number} ms */
const timeOf = (ms) =>
  tlv(0x17, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replaceAll(/\D/g, '')}Z`));

/**
 * @param {string} oid
 * @param {Uint8Array} value
 */
const extension = (oid, value) => sequence(identifier(oid), tlv(0x04, value));

/**
 * @typedef {object} Certificate
 * @property {string[]} chain DER in base64: the certificate, and its issuer
 * @property {string} tbsSha256
 * @property {number} bytes
 */

/** @returns {{ spki: Buffer, sha256: string }} */
export function newKey() {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return { spki, sha256: createHash('sha256').update(spki).digest('hex') };
}

export class Ca {
  #key = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  #name;
  #root;

  /** @param {string} organization */
  constructor(organization) {
    this.#name = nameOf(organization);
    const spki = this.#key.publicKey.export({ type: 'spki', format: 'der' });
    const isCa = extension('551d13', sequence(tlv(0x01, Buffer.of(0xff))));
    this.#root = this.#signed(this.#tbs({ subject: this.#name, spki, extensions: [isCa] })).toString(
      'base64',
    );
  }

  /**
   * @param {readonly string[]} names
   * @param {{ spki?: Buffer, subject?: string }} [how]
   * @returns {Certificate}
   */
  issue(names, { spki = newKey().spki, subject } = {}) {
    const alternatives = sequence(...names.map((name) => tlv(0x82, Buffer.from(name))));
    const tbs = this.#tbs({
      subject: subject === undefined ? sequence() : nameOf(subject),
      spki,
      extensions: [extension('551d11', alternatives)],
    });
    const der = this.#signed(tbs);
    const tbsSha256 = createHash('sha256').update(tbs).digest('hex');
    return { chain: [der.toString('base64'), this.#root], tbsSha256, bytes: der.length };
  }

  /** @param {{ subject: Uint8Array, spki: Uint8Array, extensions: readonly Uint8Array[] }} what */
  #tbs({ subject, spki, extensions }) {
    const serial = randomBytes(12);
    // Positive, and without a leading zero.
    serial.writeUInt8(1 + (serial.readUInt8() & 0x3f));
    return sequence(
      tlv(0xa0, tlv(0x02, Buffer.of(2))),
      tlv(0x02, serial),
      ecdsaWithSha256,
      this.#name,
      sequence(timeOf(Date.now() - DAY_MS), timeOf(Date.now() + 90 * DAY_MS)),
      subject,
      spki,
      tlv(0xa3, sequence(...extensions)),
    );
  }

  /** @param {Buffer} tbs */
  #signed(tbs) {
    const signature = tlv(0x03, Buffer.of(0), sign('sha256', tbs, this.#key.privateKey));
    return sequence(tbs, ecdsaWithSha256, signature);
  }
}
