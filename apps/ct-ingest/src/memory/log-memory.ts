import { MemoryBudget } from './memory-budget';
import type { MemoryShares } from './memory-shares';

/** The share of one log. */
export interface LogMemory {
  readonly shares: MemoryShares;
  /** What its answers hold; no other log holds any of it. */
  readonly budget: MemoryBudget;
}

export function logMemory(shares: MemoryShares): LogMemory {
  return { shares, budget: new MemoryBudget(shares.answers) };
}
