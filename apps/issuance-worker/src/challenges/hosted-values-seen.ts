import type { Outcome } from '@certwright/issuance';
import { sideBySide } from '../approvals/side-by-side';
import type { LookUpResult, LookUp } from '@certwright/dns-lookup';
import { zoneOf } from '../dns-lookup/zone-of';
import type { ServerResults } from '../name-servers/check-name-servers';
import type { NameServers } from '../name-servers/name-servers';
import { notVisible, type Place, type ValueAtTarget, valuesOf } from './values-seen';

/** Max concurrent targets; each is queried at every server of the zone. */
const targetsAtOnce = 4;
/** Timeout of the whole check, ms. */
const lookMs = 10_000;

/** Checks that every authoritative server of the zone returns the values: a CA may query any of them. */
export class HostedValuesSeen {
  constructor(
    private readonly approvalZone: string,
    private readonly lookUp: LookUp,
    private readonly nameServers: Pick<NameServers, 'serversOf' | 'query'>,
  ) {}

  /** @returns where a value is missing; null: none is missing */
  async unseen(values: readonly ValueAtTarget[], signal?: AbortSignal): Promise<Outcome | null> {
    if (values.length === 0) return null;
    const within = AbortSignal.timeout(lookMs);
    const bounded = signal === undefined ? within : AbortSignal.any([signal, within]);
    const zoneName = await zoneOf(this.lookUp, this.approvalZone, { signal: bounded });
    const servers = zoneName === null ? [] : await this.nameServers.serversOf(zoneName, bounded);
    if (servers.length === 0) return { code: 'approval_zone_unknown', zone: this.approvalZone };
    const missing: Place[] = [];
    const byLabel = Map.groupBy(values, ({ label }) => label);
    await sideBySide(targetsAtOnce, [...byLabel], async ([label, wanted]) => {
      const target = `${label}.${this.approvalZone}`;
      const results = await Promise.all(
        servers.map(async (server) => await this.nameServers.query(server, target, 'TXT', bounded)),
      );
      const expected = wanted.map(({ value }) => value);
      for (const result of results.filter((each) => !hasAll(each, expected)))
        missing.push({ name: target, server: result.server });
    });
    return notVisible(missing);
  }
}

/** Every responding address must return the value; a silent one beside another is ignored (unreachable IP family). */
function hasAll({ results }: ServerResults, expected: readonly string[]): boolean {
  const spoken = results.filter(speaks);
  return (
    spoken.length > 0 &&
    spoken.every((result) => {
      const found = valuesOf(result);
      return expected.every((value) => found.includes(value));
    })
  );
}

const speaks = (result: LookUpResult) => result.kind !== 'failure' && result.notAuthoritative !== true;
