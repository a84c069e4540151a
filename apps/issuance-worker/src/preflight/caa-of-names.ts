import { baseName, isWildcard } from '@certwright/dns-names';
import type { OutcomeOf } from '@certwright/issuance';
import { sideBySide } from '../approvals/side-by-side';
import {
  type CaaFinding,
  type CaaQuestion,
  checkCaa,
  type LookUp,
  type LookUpResult,
  relevantCaa,
} from '@certwright/dns-lookup';
import type { NameToProve, PreflightQuestion } from './preflight';

export type CaaOfNames = { readonly allowed: true } | { readonly allowed: false; readonly outcome: Refusal };

/** Max concurrent lookups. */
const lanes = 8;
/** Timeout of all lookups of an order, ms. */
const allLookUpsMs = 8_000;

/** `caa_unknown`: a lookup failed. */
type Refusal = OutcomeOf<'caa_forbids' | 'caa_unknown'>;

type Asked = Pick<PreflightQuestion, 'authority' | 'accountUri' | 'names'>;

/** Whether CAA allows the CA to issue for all names. No lookups if CAA is left to the CA. */
export async function caaOfNames(
  { authority, accountUri, names }: Asked,
  lookUp: LookUp,
): Promise<CaaOfNames> {
  if (authority.caaDomains.length === 0) return { allowed: true };
  const signal = AbortSignal.timeout(allLookUpsMs);
  const remembered = onceEach(lookUp, signal);
  const refusals: Refusal[] = [];
  await sideBySide(lanes, names, async (name) => {
    const finding = await relevantCaa(remembered, baseName(name.dnsName), signal);
    const refusal = refusalOf(name, finding, {
      wildcard: isWildcard(name.dnsName),
      issuerDomains: authority.caaDomains,
      accountUri,
      method: name.challenge,
    });
    if (refusal !== null) refusals.push(refusal);
  });
  return summary(
    refusals,
    names.map(({ dnsName }) => dnsName),
  );
}

/** Names of one domain share parent names: each is looked up once. Results are kept during the preflight. */
function onceEach(lookUp: LookUp, signal: AbortSignal): LookUp {
  const lookUps = new Map<string, Promise<LookUpResult>>();
  return async (name, type) => {
    const result = lookUps.get(name) ?? lookUp(name, type, { signal });
    lookUps.set(name, result);
    return await result;
  };
}

function refusalOf({ dnsName }: NameToProve, finding: CaaFinding, question: CaaQuestion): Refusal | null {
  if (!finding.known) {
    const { at, failure, server } = finding;
    return { code: 'caa_unknown', dnsName, at, failure, server, more: 0 };
  }
  const verdict = checkCaa(finding.records, question);
  if (verdict.allowed) return null;
  const { reason, records } = verdict;
  return { code: 'caa_forbids', dnsName, at: finding.at, reason, records, more: 0 };
}

/** Definite refusals come first: a failed lookup gives no hint for fixing the zone. */
function summary(refusals: readonly Refusal[], inOrder: readonly string[]): CaaOfNames {
  const isKnown = ({ code }: Refusal) => Number(code === 'caa_forbids');
  const [first, ...others] = [...refusals].sort(
    (one, other) =>
      isKnown(other) - isKnown(one) || inOrder.indexOf(one.dnsName) - inOrder.indexOf(other.dnsName),
  );
  if (first === undefined) return { allowed: true };
  return { allowed: false, outcome: { ...first, more: others.length } };
}
