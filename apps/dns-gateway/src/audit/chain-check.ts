import { type ChainHead, chainStart, type TornBytes } from './audit-entry';
import { type AuditLine, readLine, tornBytes } from './audit-line';

/** The first break of a chain. */
export interface ChainBreak {
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** A sentence without its full stop. */
  readonly reason: string;
}

export interface ChainSummary {
  readonly instance: string | null;
  readonly entries: number;
  readonly files: number;
  /** RFC 3339; null without entries. */
  readonly firstTime: string | null;
  readonly lastTime: string | null;
  readonly head: ChainHead;
  /** Sequence numbers of changes without an outcome. */
  readonly intentsWithoutOutcome: readonly number[];
  readonly tornLines: number;
}

const newline = 0x0a;

/**
 * Follows one instance's chain through its files, in order. Stops at the first break.
 *
 * The chain reveals every change before its head. It does not reveal that its end was cut off or that all of it was
 * rewritten: detecting either requires a head that was kept elsewhere.
 */
export class ChainCheck {
  private at: ChainHead | null;
  private instance: string | null = null;
  private entries = 0;
  private files = 0;
  private firstTime: string | null = null;
  private lastTime: string | null = null;
  private tornLines = 0;
  private readonly withoutOutcome = new Set<number>();
  /** Torn bytes that the next file must record. */
  private readonly unrecorded: (TornBytes & { readonly where: ChainBreak })[] = [];

  /**
   * @param after position at which the files continue the chain; null: as their first entry states
   * @param kept a head that was kept elsewhere: the chain must contain it
   */
  constructor(
    private readonly after: ChainHead | null = chainStart,
    private readonly kept: ChainHead | null = null,
  ) {
    this.at = after;
  }

  /** @returns null while the chain is valid */
  take(file: string, bytes: Buffer): ChainBreak | null {
    this.files += 1;
    let start = 0;
    for (let number = 1; start < bytes.length; number += 1) {
      const end = bytes.indexOf(newline, start);
      const broken = (reason: string): ChainBreak => ({ file, line: number, reason });
      if (end === -1) return broken('the last line has no end; the next start of the gateway records it');
      const line = bytes.subarray(start, end);
      const read = readLine(line);
      if (read.ok) {
        const reason = this.follow(read.line, number === 1);
        if (reason !== null) return broken(reason);
      } else if (read.whole || end + 1 < bytes.length) {
        return broken(read.reason);
      } else if (line.length === 0) {
        return broken('the line is empty');
      } else {
        this.unrecorded.push({ ...tornBytes(line), where: broken('a torn line that no entry records') });
      }
      start = end + 1;
    }
    return null;
  }

  /** After the last file. */
  finish(): ChainBreak | null {
    const [torn] = this.unrecorded;
    if (torn !== undefined) return torn.where;
    const { kept } = this;
    const { head } = this.summary();
    if (kept === null || kept.sequence <= head.sequence) return null;
    const reason = `the chain ends with entry ${head.sequence}, and ${kept.sequence} was written once`;
    return { file: 'the end', line: this.entries, reason };
  }

  /** Torn bytes at the end of the files read, oldest first. */
  unrecordedTorn(): readonly TornBytes[] {
    return this.unrecorded.map(({ bytes, sha256 }) => ({ bytes, sha256 }));
  }

  summary(): ChainSummary {
    return {
      instance: this.instance,
      entries: this.entries,
      files: this.files,
      firstTime: this.firstTime,
      lastTime: this.lastTime,
      head: this.at ?? chainStart,
      intentsWithoutOutcome: [...this.withoutOutcome],
      tornLines: this.tornLines,
    };
  }

  /** @returns why the line does not follow, or null */
  private follow(line: AuditLine, firstOfFile: boolean): string | null {
    const { at } = this;
    if (at !== null && line.sequence !== at.sequence + 1)
      return `entry ${line.sequence} is where ${at.sequence + 1} belongs`;
    if (at !== null && line.previous !== at.hash)
      return `entry ${line.sequence} follows another entry than the one before it`;
    if (line.sequence === this.kept?.sequence && line.hash !== this.kept.hash)
      return `entry ${line.sequence} is not the one that was kept: the chain was rewritten`;
    const reason = this.checkContent(line, firstOfFile);
    if (reason !== null) return reason;
    this.at = { sequence: line.sequence, hash: line.hash };
    this.entries += 1;
    this.firstTime ??= line.time;
    this.lastTime = line.time;
    return null;
  }

  private checkContent({ sequence, content }: AuditLine, firstOfFile: boolean): string | null {
    if (firstOfFile !== (content.kind === 'opened'))
      return 'a file starts with the entry that opens it, and no other entry of the file opens it';
    switch (content.kind) {
      case 'opened':
        return this.open(content.instance, content.torn);
      case 'handle-refused':
        return null;
      case 'intent':
        if (content.decision === 'allowed') this.withoutOutcome.add(sequence);
        return null;
      case 'outcome':
        // The files may begin in the middle of a chain, with the intent in an earlier file.
        if (
          this.withoutOutcome.delete(content.intent) ||
          content.intent <= (this.after?.sequence ?? sequence)
        )
          return null;
        return `entry ${content.intent} is no intent that waits for its outcome`;
    }
  }

  private open(instance: string, torn: readonly TornBytes[]): string | null {
    if (this.instance !== null && this.instance !== instance)
      return `it is of another instance (${instance})`;
    this.instance = instance;
    // When the check starts in the middle of a chain, the end of the preceding file is unknown.
    const known = this.entries > 0 || this.after === chainStart;
    if (known && JSON.stringify(torn) !== JSON.stringify(this.unrecordedTorn()))
      return 'it does not record what the file before it ends in';
    this.tornLines += torn.length;
    this.unrecorded.length = 0;
    return null;
  }
}
