import { baseName, isWildcard } from '@certwright/dns-names';
import { sideBySide } from '../approvals/side-by-side';
import type { Answer, LookUp } from '../dns-lookup/answer';
import { type CaaQuestion, judgeCaa } from './caa';
import type { NameToProve, PreflightQuestion } from './preflight';
import { type CaaFinding, relevantCaa } from './relevant-caa';

export type CaaOfNames =
  | { readonly allowed: true }
  /** `known: false`: a look-up failed. */
  | { readonly allowed: false; readonly known: boolean; readonly message: string };

/** Names that are looked up at a time. */
const lanes = 8;
/** For all look-ups of an order, ms. */
const allLookUpsMs = 8_000;

interface Refusal {
  readonly dnsName: string;
  readonly known: boolean;
  readonly message: string;
}

type Asked = Pick<PreflightQuestion, 'authority' | 'accountUri' | 'names'>;

/** Whether CAA lets the CA issue for every one of the names. Nothing is looked up when CAA is left to the CA. */
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

/** Names of one domain share the way up: each step of it is asked for once. The answers live as long as the preflight. */
function onceEach(lookUp: LookUp, signal: AbortSignal): LookUp {
  const asked = new Map<string, Promise<Answer>>();
  return async (name, type) => {
    const answer = asked.get(name) ?? lookUp(name, type, { signal });
    asked.set(name, answer);
    return await answer;
  };
}

function refusalOf({ dnsName }: NameToProve, finding: CaaFinding, question: CaaQuestion): Refusal | null {
  if (!finding.known) {
    const message =
      `${finding.problem}, and nobody may issue for ${dnsName} before it is known. ` +
      `Make the zone's name servers answer for CAA; NODATA will do. It is tried again by itself.`;
    return { dnsName, known: false, message: message.charAt(0).toUpperCase() + message.slice(1) };
  }
  const verdict = judgeCaa(finding.records, question);
  if (verdict.allowed) return null;
  const { reason, whatToDo } = verdict;
  const message = `For ${dnsName}, the CAA records of ${finding.at} ${reason}. ${whatToDo(finding.at)}`;
  return { dnsName, known: true, message };
}

/** What is certain goes first: a look-up that failed says nothing that a change of the zone would mend. */
function summary(refusals: readonly Refusal[], inOrder: readonly string[]): CaaOfNames {
  const sorted = [...refusals].sort(
    (one, other) =>
      Number(other.known) - Number(one.known) ||
      inOrder.indexOf(one.dnsName) - inOrder.indexOf(other.dnsName),
  );
  const [first, ...others] = sorted;
  if (first === undefined) return { allowed: true };
  const more = others.length === 0 ? '' : ` The same holds for ${others.length} more of the names.`;
  return { allowed: false, known: first.known, message: first.message + more };
}
