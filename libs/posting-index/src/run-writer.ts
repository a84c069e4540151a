import { BlockWriter } from './block-writer';
import { blockBytes, type PostingBlock } from './posting-block';
import { shardOf, type TakePosting } from './posting';

/** A block and its place in its run. */
export interface ShardBlock extends PostingBlock {
  readonly shard: number;
}

/** Writes the blocks of one run: postings in order of key and position. */
export class RunWriter {
  postings = 0;
  private full: ShardBlock[] = [];
  private shard = 0;
  private readonly writer: BlockWriter;

  /** @param from first position of the run */
  constructor(from: number, bytes = blockBytes) {
    this.writer = new BlockWriter(from, (block) => this.full.push({ ...block, shard: this.shard }), bytes);
  }

  readonly add: TakePosting = (key, position, day) => {
    const shard = shardOf(key);
    if (shard !== this.shard) {
      this.writer.flush();
      this.shard = shard;
    }
    this.writer.add(key, position, day);
    this.postings += 1;
  };

  /** Blocks that are full and have not been taken yet. */
  get waiting(): number {
    return this.full.length;
  }

  take(): ShardBlock[] {
    const taken = this.full;
    this.full = [];
    return taken;
  }

  end(): ShardBlock[] {
    this.writer.flush();
    return this.take();
  }
}
