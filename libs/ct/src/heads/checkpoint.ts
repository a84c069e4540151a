import { sha256 } from '@certwright/pki';
import { isHash } from '../merkle/hashes';
import { fromBase64 } from '../bytes';
import type { LogKey } from './log-key';
import { type NoteFault, type NoteSignature, readNote } from './note';
import { isTimestamp, type TreeHead, type TreeHeadFault, treeHeadSignatureFault } from './tree-head';

/**
 * Why a checkpoint is rejected, besides the errors of a note: its lines are not a checkpoint's; it is another
 * log's; it has extension lines, which are not signed; the log's signature is missing.
 */
export type CheckpointFault =
  NoteFault | Exclude<TreeHeadFault, 'json'> | 'checkpoint_form' | 'origin' | 'extension_lines' | 'unsigned';

export type CheckpointReading =
  { readonly ok: true; readonly head: TreeHead } | { readonly ok: false; readonly fault: CheckpointFault };

/** static-ct-api, "Checkpoints". */
const rfc6962NoteSignatureType = 0x05;

const timestampBytes = 8;

/** A submission prefix without scheme and trailing slashes (static-ct-api, "Checkpoints"). */
export function checkpointOrigin(submissionUrl: string): string {
  const rest = submissionUrl.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '');
  let end = rest.length;
  while (end > 0 && rest[end - 1] === '/') end--;
  return rest.slice(0, end);
}

/** First four bytes of SHA-256 over the key name, a line feed, 0x05 and the log id. */
export function rfc6962KeyId(keyName: string, logId: Uint8Array): number {
  const head = Buffer.from(`${keyName}\n`, 'utf8');
  return sha256(Buffer.concat([head, Buffer.from([rfc6962NoteSignatureType]), logId])).readUInt32BE(0);
}

/**
 * A static log's signed tree head: a checkpoint (c2sp.org/tlog-checkpoint) with the log's
 * RFC6962NoteSignature verified. Signatures of other keys are ignored; if any signature of the log's own key
 * is invalid, so is the checkpoint.
 */
export function readCheckpoint(bytes: Uint8Array, origin: string, key: LogKey): CheckpointReading {
  const reading = readNote(bytes);
  if (!reading.ok) return reading;
  const [firstLine, size, root, ...extensions] = reading.note.text.slice(0, -1).split('\n');
  const treeSize = readTreeSize(size);
  const rootHash = fromBase64(root);
  if (!firstLine || treeSize === null || rootHash === null || !isHash(rootHash) || extensions.includes(''))
    return faulty('checkpoint_form');
  if (firstLine !== origin) return faulty('origin');
  if (extensions.length > 0) return faulty('extension_lines');
  const keyId = rfc6962KeyId(origin, key.logId);
  const own = reading.note.signatures.filter((each) => each.keyName === origin && each.keyId === keyId);
  return latestOf(own, { treeSize, rootHash }, key);
}

/** With several signatures of the log, the newest timestamp counts. */
function latestOf(
  signatures: readonly NoteSignature[],
  tree: Omit<TreeHead, 'timestamp'>,
  key: LogKey,
): CheckpointReading {
  let newest: TreeHead | null = null;
  for (const { signature } of signatures) {
    if (signature.length < timestampBytes) return faulty('signature_form');
    const timestamp = Number(signature.readBigUInt64BE(0));
    if (!isTimestamp(timestamp)) return faulty('signature_form');
    const head = { ...tree, timestamp };
    const fault = treeHeadSignatureFault(head, signature.subarray(timestampBytes), key);
    if (fault !== null) return faulty(fault);
    if (newest === null || timestamp > newest.timestamp) newest = head;
  }
  return newest === null ? faulty('unsigned') : { ok: true, head: newest };
}

/** Decimal without leading zeroes. */
function readTreeSize(text: string | undefined): number | null {
  if (text === undefined || !/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return null;
  const size = Number(text);
  return Number.isSafeInteger(size) ? size : null;
}

function faulty(fault: CheckpointFault): CheckpointReading {
  return { ok: false, fault };
}
