import { listed, type Outcome } from '@certwright/issuance';
import { recordsOfType } from '@certwright/dns-authority';
import type { LookUpResult, LookUp } from '@certwright/dns-lookup';
import { annotateSpan, inSpan } from '@certwright/tracing';
import { sideBySide } from '../approvals/side-by-side';

/** A TXT value that must be visible at the target of a standing record. */
export interface ValueAtTarget {
  readonly label: string;
  readonly value: string;
}

/** Timeout of the whole check, ms; allows for one lost datagram and its retry. */
const lookMs = 4_000;
/** Max concurrent queries: an order has up to 100 names. */
const questionsAtOnce = 16;

/**
 * Queries the servers that a CA will query: a CA that looks too early counts a failure, and five in an hour block a
 * name.
 */
export class ValuesSeen {
  /**
   * @param approvalZone zone of the targets
   * @param lookUps of each check: one per copy of approval-responder, each queried separately; or only the resolver's
   */
  constructor(
    private readonly approvalZone: string,
    private readonly lookUps: () => readonly LookUp[] | Promise<readonly LookUp[]>,
  ) {}

  /** @returns where a value is missing; null: none is missing */
  async unseen(values: readonly ValueAtTarget[], signal?: AbortSignal): Promise<Outcome | null> {
    const attributes = { 'certwright.values': values.length };
    return await inSpan('approval-responder values', { kind: 'client', attributes }, async () => {
      const outcome = await this.look(values, signal);
      annotateSpan({ 'certwright.outcome': outcome?.code ?? 'seen' });
      return outcome;
    });
  }

  private async look(values: readonly ValueAtTarget[], signal?: AbortSignal): Promise<Outcome | null> {
    const within = AbortSignal.timeout(lookMs);
    const bounded = signal === undefined ? within : AbortSignal.any([signal, within]);
    const lookUps = await this.lookUps();
    const questions = values.flatMap((value) => lookUps.map((lookUp) => ({ value, lookUp })));
    const missing: Place[] = [];
    await sideBySide(questionsAtOnce, questions, async ({ value: { label, value }, lookUp }) => {
      const target = `${label}.${this.approvalZone}`;
      const result = await lookUp(target, 'TXT', { signal: bounded });
      if (!valuesOf(result).includes(value)) missing.push({ name: target, server: result.from });
    });
    return notVisible(missing);
  }
}

/** Where a value is missing: the target and the queried server. */
export interface Place {
  readonly name: string;
  readonly server: string;
}

export function notVisible(missing: readonly Place[]): Outcome | null {
  return missing.length === 0 ? null : { code: 'challenge_not_visible', places: listed(missing) };
}

export function valuesOf(result: LookUpResult): readonly string[] {
  if (result.kind !== 'records') return [];
  return recordsOfType(result.answers, 'TXT').map(({ data }) => Buffer.concat(data).toString('latin1'));
}
