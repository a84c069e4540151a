import { readFile } from 'node:fs/promises';
import type { TreeHead } from '@certwright/ct';
import { LogFileFault } from './log-file';
import { orAbsent, writeWhole } from './whole-file';

export interface PublishedHead extends TreeHead {
  /** TreeHeadSignature: a digitally-signed struct (RFC 6962, section 3.5). */
  readonly signature: Buffer;
}

/** The response to `get-sth` (section 4.3). */
export function headJson({ treeSize, timestamp, rootHash, signature }: PublishedHead) {
  return {
    tree_size: treeSize,
    timestamp,
    sha256_root_hash: rootHash.toString('base64'),
    tree_head_signature: signature.toString('base64'),
  };
}

/** The newest head, stored so that no later one contradicts it. */
export class HeadFile {
  constructor(private readonly file: string) {}

  async read(): Promise<PublishedHead | null> {
    const text = await readFile(this.file, 'utf8').catch(orAbsent);
    if (text === null) return null;
    try {
      const kept = JSON.parse(text) as ReturnType<typeof headJson>;
      return {
        treeSize: kept.tree_size,
        timestamp: kept.timestamp,
        rootHash: Buffer.from(kept.sha256_root_hash, 'base64'),
        signature: Buffer.from(kept.tree_head_signature, 'base64'),
      };
    } catch (error) {
      throw new LogFileFault(`${this.file} is not a tree head of a demo log.`, { cause: error });
    }
  }

  /** Stored before it is published: a published head that is lost would lead to a fork. */
  async write(head: PublishedHead): Promise<void> {
    await writeWhole(this.file, `${JSON.stringify(headJson(head))}\n`);
  }
}
