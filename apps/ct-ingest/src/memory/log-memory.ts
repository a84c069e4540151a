import { MemoryBudget } from './memory-budget';
import type { MemoryShares } from './memory-shares';

/** The memory share of one log. */
export interface LogMemory {
  readonly shares: MemoryShares;
  /** For its responses; not shared with other logs. */
  readonly budget: MemoryBudget;
}

export function logMemory(shares: MemoryShares): LogMemory {
  return { shares, budget: new MemoryBudget(shares.responses) };
}
