import type { bodyDeflation } from '@certwright/ct-index';

/** Concatenated pieces. Both buffers are transferred with the message. */
export interface Pieces {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** End offset of each piece. */
  readonly ends: Uint32Array<ArrayBuffer>;
}

/**
 * The program of a thread that receives certificates and returns their packed bodies, or no bytes for one that does not get
 * shorter. As a string: a thread starts from a file or a string, and this is all that the file would contain.
 */
export const packingText = `(${packAll.toString()})(require);`;

/** It has no access to the enclosing scope: its dependencies come from `load`, or from the thread's workerData. */
function packAll(load: NodeJS.Require): void {
  const { parentPort, workerData } = load('node:worker_threads') as typeof import('node:worker_threads');
  const { deflateRawSync } = load('node:zlib') as typeof import('node:zlib');
  const { firstByte, options } = workerData as typeof bodyDeflation;
  parentPort?.on('message', ({ bytes: ders, ends }: Pieces) => {
    // A shortened body and its first byte fit in place of the original.
    const bytes = new Uint8Array(ders.length);
    const packedEnds = new Uint32Array(ends.length);
    let [start, at] = [0, 0];
    ends.forEach((end, nth) => {
      const deflated = deflateRawSync(ders.subarray(start, end), {
        ...options,
        chunkSize: Math.max(64, end - start),
      });
      if (deflated.length < end - start) {
        bytes[at] = firstByte;
        bytes.set(deflated, at + 1);
        at += deflated.length + 1;
      }
      packedEnds[nth] = at;
      start = end;
    });
    const response: Pieces = { bytes: bytes.slice(0, at), ends: packedEnds };
    parentPort?.postMessage(response, [response.bytes.buffer, response.ends.buffer]);
  });
}
