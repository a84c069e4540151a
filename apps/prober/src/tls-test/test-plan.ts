import type { InconclusiveTest, TestedAddress } from '@certwright/jobs';
import type { Inconclusion } from './inconclusion';

/** A host with its addresses, or the reason why it has none. */
export interface LookedUpHost {
  readonly host: string;
  readonly addresses: readonly string[];
  /** Null: it was resolved. */
  readonly problem: Inconclusion | null;
}

/** Addresses of one host that are tested: more than big sites publish. */
export const maxPerHost = 16;

/** Addresses that one test connects to, all hosts together. */
export const maxInAll = 64;

export interface TestPlan {
  /** In the order in which they are tested: the first address of each host, then the second of each. */
  readonly toTest: readonly TestedAddress[];
  /** Results that need no connection, after the tests of their host. */
  readonly known: readonly InconclusiveTest[];
}

/**
 * Selects the addresses to test. Every host gets one before any gets a second one. If addresses are omitted, the host
 * reports that in place of the first omitted one: a partial test must not look like a complete one.
 */
export function testPlan(hosts: readonly LookedUpHost[]): TestPlan {
  const ranks = Array.from({ length: maxPerHost }, (_, rank) => rank);
  const toTest = ranks
    .flatMap((rank) => hosts.map(({ host, addresses }) => ({ host, address: addresses[rank] })))
    .filter((each): each is TestedAddress => each.address !== undefined)
    .slice(0, maxInAll);
  return { toTest, known: hosts.flatMap((each) => knownOf(each, toTest)) };
}

function knownOf(
  { host, addresses, problem }: LookedUpHost,
  toTest: readonly TestedAddress[],
): readonly InconclusiveTest[] {
  if (problem !== null) return [{ host, address: '', ...problem }];
  const tested = toTest.filter((each) => each.host === host).length;
  const left = addresses.length - tested;
  if (left <= 0) return [];
  return [
    {
      host,
      address: addresses[tested] ?? '',
      status: 'internal_error',
      problem: leftOver(left, tested),
    },
  ];
}

function leftOver(left: number, tested: number): string {
  const what = left === 1 ? 'This address was' : `This address and ${left - 1} more of the host were`;
  return tested === maxPerHost
    ? `${what} not tested: no more than ${maxPerHost} addresses of a host are.`
    : `${what} not tested: one test connects to no more than ${maxInAll} addresses. Ask for fewer hosts at once.`;
}
