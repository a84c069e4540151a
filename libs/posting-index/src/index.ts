export { BlockReader } from './block-reader';
export { BlockWriter } from './block-writer';
export { KeyFilter, KeyFilterWriter } from './key-filter';
export { type PostingBlock, blockBytes } from './posting-block';
export {
  type TakePosting,
  expiryDay,
  firstLivingDay,
  keyNumber,
  keyNumbers,
  keySpace,
  keysPerShard,
  shardOf,
} from './posting';
export { RunWriter, type ShardBlock } from './run-writer';
