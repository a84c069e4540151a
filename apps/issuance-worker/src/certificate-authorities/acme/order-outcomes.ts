import {
  type IssuanceError,
  type IssuanceErrorCode,
  listed,
  type NameRefusal,
  type OutcomeOf,
  type RefusalReason,
} from '@certwright/issuance';
import type { AcmeFault, AcmeProblem, FailedOrder } from '../../acme';
import { isFinalProblem } from './classify-fault';

/** Outcome of a failed exchange with the CA. */
export function outcomeOfFault(
  authority: string,
  { problem, message }: AcmeFault,
): OutcomeOf<'ca_unreachable' | 'ca_refused'> {
  if (problem === null) return { code: 'ca_unreachable', authority, detail: message.replace(/\.$/, '') };
  const names = problem.subproblems.flatMap(({ dnsName, type: reason, detail: saying }): NameRefusal[] => {
    return dnsName === null ? [] : [{ dnsName, reason, saying }];
  });
  return {
    code: 'ca_refused',
    authority,
    stage: 'request',
    reason: problem.type,
    saying: sayingOf(problem),
    names: listed(names),
  };
}

/** With the page that says what to do (RFC 8555, section 7.3.3). */
function sayingOf({ type, detail, instance }: AcmeProblem): string {
  return type === 'userActionRequired' && instance !== null ? `${detail} (${instance})` : detail;
}

/** Error of an order that the CA ended. */
export function errorOfOrder(
  authority: string,
  { names, reason, saying }: FailedOrder,
): { readonly error: IssuanceError; readonly final: boolean } {
  const reasons = names.length > 0 ? names.map((name) => name.reason) : [reason];
  const final = reasons.some(isFinalProblem);
  const outcome = {
    ...({ code: 'ca_refused', authority, stage: 'attempt' } as const),
    ...{ reason, saying, names: listed(names) },
  };
  return { error: { code: codeOf(names.length, reasons, final), outcome }, final };
}

function codeOf(names: number, reasons: readonly RefusalReason[], final: boolean): IssuanceErrorCode {
  if (reasons.every((reason) => reason === 'caa')) return 'caa_forbids';
  return names > 0 && !final ? 'authorization_failed' : 'ca_rejected';
}
