import { answer, bareReply, type Reply } from './answer';
import { RCODE } from './codes';
import { type DnsName } from './name';
import { type Question } from './request';
import { type RecordSource, type ZoneSlice } from './source';

/**
 * Reads of the source for one query: the name, eight CNAME hops, and name servers of a referral; more is nobody's
 * zone.
 */
const READ_LIMIT = 24;

/** Alternates between deciding and reading until the answer stands. Rejects when the source does. */
export async function resolve(question: Question, source: RecordSource): Promise<Reply> {
  const slices = new Map<DnsName, ZoneSlice | null>();
  for (let reads = 0; reads <= READ_LIMIT; reads++) {
    const outcome = answer(question, slices);
    if (outcome.kind === 'reply') return outcome.reply;
    slices.set(outcome.name, (await source.read(outcome.name)) ?? null);
  }
  return bareReply(RCODE.SERVFAIL);
}
