import { ReadLook } from '@certwright/endpoint-checks';
import type { ProbeQuestions } from '@certwright/redis';
import type { LookedAt } from './check-looks';
import type { ClaimedEndpoint } from './due-endpoints.repository';

/** Ports of one look. */
const maxPorts = 4;

interface Group {
  readonly ports: ReadonlySet<number>;
  readonly endpoints: readonly ClaimedEndpoint[];
}

/** Endpoints that share a look: those with the same name, if their ports together are not too many. */
export function groupsOf(claimed: readonly ClaimedEndpoint[]): readonly (readonly ClaimedEndpoint[])[] {
  return [...Map.groupBy(claimed, ({ dnsName }) => dnsName).values()].flatMap((ofName) => {
    const groups: Group[] = [];
    for (const endpoint of ofName) {
      const at = groups.findIndex(({ ports }) => new Set([...ports, ...endpoint.ports]).size <= maxPorts);
      const group = groups[at];
      const joined = {
        ports: new Set([...(group?.ports ?? []), ...endpoint.ports]),
        endpoints: [...(group?.endpoints ?? []), endpoint],
      };
      if (group === undefined) groups.push(joined);
      else groups[at] = joined;
    }
    return groups.map(({ endpoints }) => endpoints);
  });
}

/** Looks under way, and those whose results are not stored yet. */
export class Looks {
  private readonly waiting = new Set<Promise<void>>();
  private finished: LookedAt[] = [];
  private isOver = false;

  constructor(private readonly prober: Pick<ProbeQuestions, 'askLook'>) {}

  get underWay(): number {
    return this.waiting.size;
  }

  /** @param endpoints with one name */
  begin(endpoints: readonly ClaimedEndpoint[]): void {
    const [first] = endpoints;
    if (first === undefined) return;
    const ports = [...new Set(endpoints.flatMap((endpoint) => endpoint.ports))].sort((a, b) => a - b);
    const question = { hosts: [{ host: first.dnsName, ports }], serverName: null, withHttpStatus: true };
    const pending = this.prober.askLook(question).then((look) => {
      this.waiting.delete(pending);
      if (this.isOver) return;
      const read = look === null ? null : new ReadLook(look);
      this.finished.push(...endpoints.map((endpoint) => ({ endpoint, look: read })));
    });
    this.waiting.add(pending);
  }

  /** Results that are to be stored, each once. */
  take(max: number): readonly LookedAt[] {
    return this.finished.splice(0, max);
  }

  /** Drops everything: another process continues. */
  end(): void {
    this.isOver = true;
    this.finished = [];
  }

  /** Resolves when none is under way. */
  async settled(): Promise<void> {
    while (this.waiting.size > 0) await Promise.all(this.waiting);
  }
}

/** At most so many per second, and no burst after a pause. */
export class Pace {
  private available = 0;
  private atMs: number | null = null;

  constructor(private readonly perSecond: number) {}

  /** How many may begin now. */
  free(now: Date): number {
    const nowMs = now.getTime();
    const passedMs = this.atMs === null ? 0 : Math.max(0, nowMs - this.atMs);
    this.atMs = nowMs;
    this.available = Math.min(this.perSecond, this.available + (passedMs * this.perSecond) / 1_000);
    return Math.floor(this.available);
  }

  take(count: number): void {
    this.available -= count;
  }
}
