import { recordsOfType } from '@certwright/dns-authority';
import type { Answer, LookUp } from '../dns-lookup/answer';
import { sideBySide } from '../approvals/side-by-side';

/** A TXT value that has to be seen at the target of a standing record. */
export interface ValueAtTarget {
  readonly label: string;
  readonly value: string;
}

/** For the whole look, ms; as much of it as a lost datagram and its repetition take. */
const lookMs = 4_000;
/** Questions at a time: an order has up to a hundred names. */
const questionsAtOnce = 16;
const targetsInMessage = 3;

/** Asks where a CA will ask: a CA that looks too early counts a failure, and five of them in an hour lock a name out. */
export class ValuesSeen {
  /**
   * @param approvalZone in which the targets lie
   * @param lookUps of the copies of approval-responder, each asked by itself; or of the resolver alone
   */
  constructor(
    private readonly approvalZone: string,
    private readonly lookUps: readonly LookUp[],
  ) {}

  /** @returns where a value is missing, as a sentence; null: nowhere */
  async unseen(values: readonly ValueAtTarget[], signal?: AbortSignal): Promise<string | null> {
    const within = AbortSignal.timeout(lookMs);
    const bounded = signal === undefined ? within : AbortSignal.any([signal, within]);
    const questions = values.flatMap((value) => this.lookUps.map((lookUp) => ({ value, lookUp })));
    const missing: string[] = [];
    await sideBySide(questionsAtOnce, questions, async ({ value: { label, value }, lookUp }) => {
      const target = `${label}.${this.approvalZone}`;
      const answer = await lookUp(target, 'TXT', { signal: bounded });
      if (!valuesOf(answer).includes(value)) missing.push(`${target} at ${answer.from}`);
    });
    return unseenSentence(missing);
  }
}

/** @param missing `target at server` */
export function unseenSentence(missing: readonly string[]): string | null {
  if (missing.length === 0) return null;
  const more = missing.length - targetsInMessage;
  const shown = missing.slice(0, targetsInMessage).join(', ');
  return `The value that the CA looks for is not seen yet: ${shown}${more > 0 ? `, and ${more} more` : ''}.`;
}

export function valuesOf(answer: Answer): readonly string[] {
  if (answer.kind !== 'records') return [];
  return recordsOfType(answer.answers, 'TXT').map(({ data }) => Buffer.concat(data).toString('latin1'));
}
