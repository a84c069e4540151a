import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { bodyDictionary } from './body-dictionary';

export const bodyPackings = ['none', 'deflate'] as const;
export type BodyPacking = (typeof bodyPackings)[number];

/** First byte of a packed body. The meaning of a number never changes. */
const packedBy = { none: 0, deflate: 1 } as const satisfies Record<BodyPacking, number>;

/** The dictionary has 16 kB and most certificates have 2 kB: more memory has no benefit. */
const deflateOptions = { dictionary: bodyDictionary, level: 6, memLevel: 4 } as const;

/** Parameters to reproduce `packBody` elsewhere: deflated bytes follow this first one. */
export const bodyDeflation = { firstByte: packedBy.deflate, options: deflateOptions } as const;

/** In a log, the length of a DER certificate has three bytes. */
const maxBodyLength = 0x100_0000;

/** Halves certificates, at 60 µs each: nearly all share most bytes with the dictionary. */
export function packBody(der: Uint8Array, packing: BodyPacking): Buffer {
  if (packing === 'deflate') {
    // Chunks as long as the certificate: the default ones of 16 kB create garbage faster than it is collected.
    const deflated = deflateRawSync(der, { ...deflateOptions, chunkSize: Math.max(64, der.length) });
    if (deflated.length < der.length) return withFirst(packedBy.deflate, deflated);
  }
  return withFirst(packedBy.none, der);
}

/** @throws Error for bytes that `packBody` did not create */
export function unpackBody(body: Uint8Array): Buffer {
  const packed = body.subarray(1);
  switch (body[0]) {
    case packedBy.none:
      return Buffer.from(packed);
    case packedBy.deflate:
      return inflateRawSync(packed, { dictionary: bodyDictionary, maxOutputLength: maxBodyLength });
    default:
      throw new Error(`a body has an unknown packing: ${body[0]}`);
  }
}

function withFirst(byte: number, rest: Uint8Array): Buffer {
  const body = Buffer.allocUnsafe(rest.length + 1);
  body[0] = byte;
  body.set(rest, 1);
  return body;
}
