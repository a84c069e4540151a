import { listed, type Outcome } from '@certwright/issuance';
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

  /** @returns where a value is missing; null: nowhere */
  async unseen(values: readonly ValueAtTarget[], signal?: AbortSignal): Promise<Outcome | null> {
    const within = AbortSignal.timeout(lookMs);
    const bounded = signal === undefined ? within : AbortSignal.any([signal, within]);
    const questions = values.flatMap((value) => this.lookUps.map((lookUp) => ({ value, lookUp })));
    const missing: Place[] = [];
    await sideBySide(questionsAtOnce, questions, async ({ value: { label, value }, lookUp }) => {
      const target = `${label}.${this.approvalZone}`;
      const answer = await lookUp(target, 'TXT', { signal: bounded });
      if (!valuesOf(answer).includes(value)) missing.push({ name: target, server: answer.from });
    });
    return notVisible(missing);
  }
}

/** Where a value is missing: the target, and the server that was asked. */
export interface Place {
  readonly name: string;
  readonly server: string;
}

export function notVisible(missing: readonly Place[]): Outcome | null {
  return missing.length === 0 ? null : { code: 'challenge_not_visible', places: listed(missing) };
}

export function valuesOf(answer: Answer): readonly string[] {
  if (answer.kind !== 'records') return [];
  return recordsOfType(answer.answers, 'TXT').map(({ data }) => Buffer.concat(data).toString('latin1'));
}
