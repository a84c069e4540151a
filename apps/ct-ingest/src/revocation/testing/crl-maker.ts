import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { oid, seq, tlv } from '../../testing/forged-entries';

const time = (ms: number) =>
  tlv(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));
const integer = (hex: string) => tlv(0x02, Buffer.from(hex, 'hex'));
const extension = (id: string, value: Uint8Array) => seq(oid(id), tlv(0x04, value));
const ecdsaWithSha256 = seq(oid('2a8648ce3d040302'));

const day = 86_400_000;

export interface Making {
  /** Hexadecimal serial numbers, with the reason. */
  readonly revoked?: Readonly<Record<string, number>>;
  readonly number?: number;
  /** From now, ms. */
  readonly thisUpdateIn?: number;
  readonly nextUpdateIn?: number | null;
  /** Of the issuing distribution point. */
  readonly places?: readonly string[];
  readonly isDelta?: boolean;
  readonly userCertificatesOnly?: boolean;
  readonly authoritiesOnly?: boolean;
}

/** A CA that publishes lists but no certificates. */
export class CrlMaker {
  readonly nameDer: Buffer;
  readonly spkiDer: Buffer;
  private readonly key: KeyObject;

  constructor(name: string) {
    this.nameDer = seq(tlv(0x31, seq(oid('550403'), tlv(0x0c, Buffer.from(name)))));
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.key = privateKey;
    this.spkiDer = publicKey.export({ type: 'spki', format: 'der' });
  }

  get spkiSha256(): Buffer {
    return createHash('sha256').update(this.spkiDer).digest();
  }

  make(making: Making = {}): Buffer {
    const { revoked = {}, thisUpdateIn = -1_000, nextUpdateIn = 7 * day } = making;
    const now = Date.now();
    const entries = Object.entries(revoked).map(([serial, reason]) =>
      seq(integer(serial), time(now - day), seq(extension('551d15', tlv(0x0a, Buffer.from([reason]))))),
    );
    const tbs = seq(
      integer('01'),
      ecdsaWithSha256,
      this.nameDer,
      time(now + thisUpdateIn),
      nextUpdateIn === null ? Buffer.alloc(0) : time(now + nextUpdateIn),
      entries.length === 0 ? Buffer.alloc(0) : seq(Buffer.concat(entries)),
      tlv(0xa0, seq(...extensionsOf(making))),
    );
    return seq(tbs, ecdsaWithSha256, tlv(0x03, Buffer.from([0]), sign('sha256', tbs, this.key)));
  }
}

function extensionsOf({ number, places, isDelta, authoritiesOnly, userCertificatesOnly }: Making): Buffer[] {
  const yes = Buffer.from([0xff]);
  const point = [
    ...(places === undefined
      ? []
      : [tlv(0xa0, tlv(0xa0, ...places.map((place) => tlv(0x86, Buffer.from(place)))))]),
    ...(userCertificatesOnly === true ? [tlv(0x81, yes)] : []),
    ...(authoritiesOnly === true ? [tlv(0x82, yes)] : []),
  ];
  return [
    ...(number === undefined ? [] : [extension('551d14', integer(number.toString(16).padStart(4, '0')))]),
    ...(isDelta === true ? [extension('551d1b', integer('01'))] : []),
    ...(point.length === 0 ? [] : [extension('551d1c', seq(...point))]),
  ];
}
