import type { LookUp, LookUpResult } from '@certwright/dns-lookup';

/** Recursive resolvers, tried in order. */
export class Resolvers {
  constructor(private readonly lookUps: readonly LookUp[]) {}

  /** When a resolver fails, the next one is queried. A resolver has an equal share of the time that remains. */
  lookUpUntil(untilMs: number): LookUp {
    return async (name, type) => {
      let result: LookUpResult = { from: '', kind: 'failure', reason: 'unreachable' };
      for (const [at, lookUp] of this.lookUps.entries()) {
        const remainingMs = untilMs - performance.now();
        if (remainingMs <= 0) return { ...result, kind: 'failure', reason: 'timeout' };
        result = await lookUp(name, type, { timeoutMs: remainingMs / (this.lookUps.length - at) });
        if (result.kind !== 'failure') return result;
      }
      return result;
    };
  }
}
