import { readFile } from 'node:fs/promises';
import type { ChainHead, TornBytes } from './audit-entry';
import { appendNewline, auditFiles } from './audit-files';
import { type AuditLine, readLine } from './audit-line';
import { ChainCheck } from './chain-check';

/** Where an instance's chain continues. */
export interface LastState {
  readonly head: ChainHead;
  /** Torn ends of the last files after crashes, which the next file records. */
  readonly torn: readonly TornBytes[];
  /** Number of the file to create. */
  readonly nextNumber: number;
}

const newline = 0x0a;

/**
 * Reads the end of the chain, starting with the newest file that has an entry. A last line cut off by a crash is
 * kept and ended with a newline; when only its newline is missing, it is a normal entry. Any other defect is not the
 * result of a crash.
 *
 * @throws Error that names file and line when the chain is broken: nothing may be appended
 */
export async function readLastState(folder: string, instance: string): Promise<LastState> {
  const files = await auditFiles(folder, instance);
  const ends: { file: string; bytes: Buffer }[] = [];
  for (const { file } of [...files].reverse()) {
    const bytes = await endedLines(file);
    ends.unshift({ file, bytes });
    if (readLine(bytes.subarray(0, Math.max(bytes.indexOf(newline), 0))).ok) break;
  }
  // Starts in the middle of the chain: older files may be archived.
  const check = new ChainCheck(null);
  for (const { file, bytes } of ends) {
    const broken = check.take(file, bytes) ?? otherInstance(file, check, instance);
    if (broken !== null) {
      throw new Error(
        `The audit log is broken at ${broken.file}:${broken.line}: ${broken.reason}. Move the files of ${instance} to another directory to start a new chain.`,
      );
    }
  }
  const nextNumber = (files.at(-1)?.number ?? 0) + 1;
  return { head: check.summary().head, torn: check.unrecordedTorn(), nextNumber };
}

function otherInstance(file: string, check: ChainCheck, instance: string) {
  const { instance: own } = check.summary();
  return own === null || own === instance ? null : { file, line: 1, reason: `it is of instance ${own}` };
}

async function endedLines(file: string): Promise<Buffer> {
  const bytes = await readFile(file);
  if (bytes.length === 0 || bytes.at(-1) === newline) return bytes;
  await appendNewline(file);
  return Buffer.concat([bytes, Buffer.from('\n')]);
}

/**
 * Bytes of newest entries that `recentEntries` reads, about 130,000 entries, and the rest of one file. Not a number of
 * files: each start begins one.
 */
const recentBytes = 64 * 1024 * 1024;

/** The instance's newest entries, oldest first. Skips a torn line; does not verify the chain. */
export async function recentEntries(folder: string, instance: string): Promise<readonly AuditLine[]> {
  const contents: Buffer[] = [];
  let bytesRead = 0;
  for (const { file } of [...(await auditFiles(folder, instance))].reverse()) {
    const bytes = await readFile(file);
    contents.unshift(bytes);
    bytesRead += bytes.length;
    if (bytesRead >= recentBytes) break;
  }
  return contents.flatMap(entriesIn);
}

function entriesIn(bytes: Buffer): readonly AuditLine[] {
  const entries: AuditLine[] = [];
  for (let start = 0, end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
    const read = readLine(bytes.subarray(start, end));
    if (read.ok) entries.push(read.line);
    start = end + 1;
  }
  return entries;
}
