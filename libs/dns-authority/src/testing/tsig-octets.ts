import { putTsigOn, type SignedMessage, type TsigRecord } from '../tsig/tsig-record';

/** The message with its record, changed as a forger would. */
export function withTsig({ message, record }: SignedMessage, change: Partial<TsigRecord>): Buffer {
  return putTsigOn(message, { ...record, ...change });
}
