import { decodePem } from '@certwright/pki';
import type { SentBytes } from '@certwright/service';

/** As every API here sends PEM. */
export const pemType = 'application/x-pem-file';

/** @param labels of the PEM block that is accepted @returns null: not exactly one PEM block with one of these labels */
export function derOf({ mediaType, bytes }: SentBytes, labels: readonly string[]): Uint8Array | null {
  if (mediaType !== pemType) return bytes;
  const decoded = decodePem(bytes.toString('utf8'), 1);
  const [block] = decoded.ok ? decoded.blocks : [];
  return block !== undefined && labels.includes(block.label) ? block.der : null;
}
