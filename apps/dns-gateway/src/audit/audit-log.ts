import path from 'node:path';
import {
  type AuditIntent,
  type AuditOutcome,
  type ChainHead,
  type EntryContent,
  type HandleRefusal,
  handleRefusedContent,
  intentContent,
  outcomeContent,
  type TornBytes,
} from './audit-entry';
import {
  type AuditFile,
  auditFileName,
  createAuditFile,
  type CreateAuditFile,
  makeFolder,
} from './audit-files';
import { writeLine } from './audit-line';
import { type InstanceLock, lockInstance } from './instance-lock';
import { readLastState } from './last-state';

export interface AuditLogOptions {
  /** Created with mode 0700 when it does not exist. */
  readonly folder: string;
  /** Name of the chain: 1 to 64 letters, digits, `.`, `_` and `-`. Unchanged by restarts, unique per process. */
  readonly instance: string;
  readonly now: () => Date;
  /** Size at which the log continues in the next file. Bytes; default 64 MiB. */
  readonly rotateAtBytes?: number;
  /** Default: files on disk. */
  readonly createFile?: CreateAuditFile;
}

/** The log cannot be written. Nothing may be changed without it. */
class AuditFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AuditFault';
  }
}

interface Waiting {
  readonly content: EntryContent;
  readonly resolve: (sequence: number) => void;
  readonly reject: (fault: AuditFault) => void;
}

const defaultRotateAtBytes = 64 * 1024 * 1024;
/** Max entries per write; an entry has about half a kilobyte. */
const maxEntriesPerWrite = 1_000;

/**
 * An append-only, hash-chained log of changes to customers' zones. The promise of an entry resolves when the entry
 * is on disk. Entries that arrive during a sync share the next sync.
 *
 * After any disk error the log refuses all entries until a restart: after a failed fsync the kernel may drop the
 * pages and report success for the next fsync. It does the same when its newest file or its lock is no longer its
 * own.
 */
export class AuditLog {
  private readonly waiting: Waiting[] = [];
  private readonly withoutOutcome = new Set<number>();
  private writing: Promise<void> | null = null;
  private fault: AuditFault | null = null;
  private file: AuditFile | null = null;
  private fileBytes = 0;

  private constructor(
    private readonly options: AuditLogOptions,
    private readonly lock: InstanceLock,
    private last: ChainHead,
    private nextNumber: number,
  ) {}

  /** @throws Error when the directory, the lock or the existing chain prevents writing */
  static async open(options: AuditLogOptions): Promise<AuditLog> {
    const { folder, instance } = options;
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(instance))
      throw new Error('The instance of an audit log is named by 1 to 64 letters, digits, dots, _ and -.');
    await makeFolder(folder);
    const lock = await lockInstance(folder, instance);
    try {
      const { head, torn, nextNumber } = await readLastState(folder, instance);
      const log = new AuditLog(options, lock, head, nextNumber);
      await log.startFile(torn, []).catch(async (error: unknown) => {
        await log.file?.close();
        throw error;
      });
      return log;
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /**
   * Resolves with the entry's id once it is on disk. A refused intent needs no outcome.
   *
   * @throws AuditFault: nothing may be changed
   */
  async intent(entry: AuditIntent): Promise<string> {
    const sequence = await this.append(intentContent(entry));
    if (entry.decision === 'allowed') this.withoutOutcome.add(sequence);
    return String(sequence);
  }

  /** @throws AuditFault when the entry is not on disk */
  async handleRefused(refusal: HandleRefusal): Promise<void> {
    await this.append(handleRefusedContent(refusal));
  }

  /** @throws AuditFault when the entry is not on disk: the log then shows an intent without outcome */
  async outcome(intentId: string, outcome: AuditOutcome): Promise<void> {
    const sequence = Number(intentId);
    if (!this.withoutOutcome.delete(sequence))
      throw new AuditFault(`Entry ${intentId} is no intent that waits for its outcome.`);
    await this.append(outcomeContent(sequence, outcome));
  }

  /** The last entry that is on disk. */
  head(): ChainHead {
    return this.last;
  }

  /** Why no entries are accepted. @returns null: they are */
  failure(): AuditFault | null {
    return this.fault;
  }

  /** Writes pending entries and accepts no more. */
  async close(): Promise<void> {
    this.fault ??= new AuditFault('The audit log is closed.');
    await this.writing;
    await this.file?.close();
    this.file = null;
    await this.lock.release();
  }

  private async append(content: EntryContent): Promise<number> {
    if (this.fault !== null) throw this.fault;
    return await new Promise((resolve, reject) => {
      this.waiting.push({ content, resolve, reject });
      this.writing ??= this.writeWaiting().finally(() => (this.writing = null));
    });
  }

  private async writeWaiting(): Promise<void> {
    // Entries appended in the same turn share the first write.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, maxEntriesPerWrite);
      try {
        const sequences = await this.write(batch.map(({ content }) => content));
        batch.forEach(({ resolve }, index) => resolve(sequences[index] ?? NaN));
      } catch (cause) {
        const { code, message } = cause as NodeJS.ErrnoException;
        this.fault = new AuditFault(`The audit log cannot be written (${code ?? message}).`, { cause });
        for (const { reject } of [...batch, ...this.waiting.splice(0)]) reject(this.fault);
      }
    }
  }

  private async write(contents: readonly EntryContent[]): Promise<readonly number[]> {
    const { rotateAtBytes = defaultRotateAtBytes } = this.options;
    if (this.fileBytes >= rotateAtBytes) return await this.startFile([], contents);
    return await this.writeLines(contents);
  }

  /** The next file, with the entry that opens it. */
  private async startFile(
    torn: readonly TornBytes[],
    contents: readonly EntryContent[],
  ): Promise<readonly number[]> {
    const { folder, instance, createFile = createAuditFile } = this.options;
    await this.file?.close();
    this.file = null;
    this.file = await createFile(path.join(folder, auditFileName(instance, this.nextNumber)));
    this.nextNumber += 1;
    this.fileBytes = 0;
    const [, ...sequences] = await this.writeLines([
      { kind: 'opened', instance, format: 1, torn },
      ...contents,
    ]);
    return sequences;
  }

  private async writeLines(contents: readonly EntryContent[]): Promise<readonly number[]> {
    if (this.file === null) throw new Error('There is no file.');
    const time = this.options.now();
    const sequences: number[] = [];
    const lines: Buffer[] = [];
    let head = this.last;
    for (const content of contents) {
      const line = writeLine(head, time, content);
      head = line.head;
      sequences.push(head.sequence);
      lines.push(line.bytes);
    }
    const bytes = Buffer.concat(lines);
    // Checked before any write: another process may have continued the chain from here.
    await this.lock.assertHeld();
    await this.file.append(bytes);
    await this.file.sync();
    this.fileBytes += bytes.length;
    this.last = head;
    return sequences;
  }
}
