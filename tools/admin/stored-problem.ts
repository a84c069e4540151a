import type { Outcome } from '@certwright/issuance';
import { storedOutcome } from '@certwright/outcome-messages';

/** Operators read codes with parameters; what an earlier release stored is a text. */
export function problemText(problem: string, outcome: Outcome | null): string {
  const stored = storedOutcome(problem, outcome);
  return stored === null || stored.code === 'text' ? problem : JSON.stringify(stored);
}
