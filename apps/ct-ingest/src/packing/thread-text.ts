import type { bodyDeflation } from '@certwright/ct-index';

/** Pieces one after another. Both buffers change hands with the message. */
export interface Pieces {
  readonly octets: Uint8Array<ArrayBuffer>;
  /** Where each piece ends. */
  readonly ends: Uint32Array<ArrayBuffer>;
}

/**
 * The program of a thread that is sent certificates and answers with their packed bodies; with no octets for one that does not get
 * shorter. As a text: a thread begins with a file or a text of its own, and this is all that would be in the file.
 */
export const packingText = `(${packAll.toString()})(require);`;

/** It sees nothing from around it: what it uses comes by `load`, or with the data that the thread is started with. */
function packAll(load: NodeJS.Require): void {
  const { parentPort, workerData } = load('node:worker_threads') as typeof import('node:worker_threads');
  const { deflateRawSync } = load('node:zlib') as typeof import('node:zlib');
  const { firstByte, options } = workerData as typeof bodyDeflation;
  parentPort?.on('message', ({ octets: ders, ends }: Pieces) => {
    // What got shorter, and its first octet, fits where it was.
    const octets = new Uint8Array(ders.length);
    const packedEnds = new Uint32Array(ends.length);
    let [start, at] = [0, 0];
    ends.forEach((end, nth) => {
      const deflated = deflateRawSync(ders.subarray(start, end), {
        ...options,
        chunkSize: Math.max(64, end - start),
      });
      if (deflated.length < end - start) {
        octets[at] = firstByte;
        octets.set(deflated, at + 1);
        at += deflated.length + 1;
      }
      packedEnds[nth] = at;
      start = end;
    });
    const answer: Pieces = { octets: octets.slice(0, at), ends: packedEnds };
    parentPort?.postMessage(answer, [answer.octets.buffer, answer.ends.buffer]);
  });
}
