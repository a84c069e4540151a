import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { bodyDictionary } from './body-dictionary';

export const bodyPackings = ['none', 'deflate'] as const;
export type BodyPacking = (typeof bodyPackings)[number];

/** First byte of a packed body. A number never changes its meaning. */
const packedBy = { none: 0, deflate: 1 } as const satisfies Record<BodyPacking, number>;

/** The dictionary is 16 kB and most certificates are 2 kB: more memory buys nothing. */
const deflateOptions = { dictionary: bodyDictionary, level: 6, memLevel: 4 } as const;

/** Parameters for packing elsewhere, as `packBody` does: deflated bytes follow this first one. */
export const bodyDeflation = { firstByte: packedBy.deflate, options: deflateOptions } as const;

/** A DER certificate has three bytes of length in a log. */
const maxBodyLength = 0x100_0000;

/** Certificates halve, at 60 µs each: nearly all of them share most bytes with the dictionary. */
export function packBody(der: Uint8Array, packing: BodyPacking): Buffer {
  if (packing === 'deflate') {
    // Chunks as long as the certificate: the usual ones of 16 kB are garbage that comes faster than it is collected.
    const deflated = deflateRawSync(der, { ...deflateOptions, chunkSize: Math.max(64, der.length) });
    if (deflated.length < der.length) return withFirst(packedBy.deflate, deflated);
  }
  return withFirst(packedBy.none, der);
}

/** @throws Error for what `packBody` did not make */
export function unpackBody(body: Uint8Array): Buffer {
  const packed = body.subarray(1);
  switch (body[0]) {
    case packedBy.none:
      return Buffer.from(packed);
    case packedBy.deflate:
      return inflateRawSync(packed, { dictionary: bodyDictionary, maxOutputLength: maxBodyLength });
    default:
      throw new Error(`a body is packed in a way that is not known: ${body[0]}`);
  }
}

function withFirst(byte: number, rest: Uint8Array): Buffer {
  const body = Buffer.allocUnsafe(rest.length + 1);
  body[0] = byte;
  body.set(rest, 1);
  return body;
}
