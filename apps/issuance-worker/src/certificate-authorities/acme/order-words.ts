import type { IssuanceError, IssuanceErrorCode } from '@certwright/issuance';
import { type AcmeFault, type AcmeProblem, adviceOn, type FailedOrder } from '../../acme';
import { isFinalProblem } from './judge-fault';

const namesInMessage = 3;

/** Why the CA gave no certificate, in words for the caller: which name, why, and what to do. */
export function wordsOfFault(authority: string, fault: AcmeFault): string {
  const { problem } = fault;
  if (problem === null) {
    return `The CA ${authority} could not be asked, or did not answer as expected. It is tried again. (${fault.message})`;
  }
  const { why, whatToDo } = adviceOn(problem.type);
  const named = problem.subproblems.filter(({ dnsName }) => dnsName !== null);
  const names = shortened(named.map(({ dnsName, detail }) => `${dnsName ?? ''}: ${detail}`));
  const said = [problem.detail, names].filter((text) => text !== '').join(' ');
  return `The CA ${authority} refused. ${why} ${said === '' ? '' : `It says: ${said} `}${whatToDo}`;
}

/** What became of an order that the CA gave up. */
export function errorOfOrder(
  authority: string,
  failed: FailedOrder,
): { readonly error: IssuanceError; readonly final: boolean } {
  const types =
    failed.names.length > 0 ? failed.names.map(({ type }) => type) : [failed.problem?.type ?? null];
  const final = types.some((type) => type !== null && isFinalProblem(type));
  return { error: { code: codeOf(failed, types), message: words(authority, failed) }, final };
}

function codeOf(failed: FailedOrder, types: readonly (AcmeProblem['type'] | null)[]): IssuanceErrorCode {
  if (types.every((type) => type === 'caa')) return 'caa_forbids';
  if (failed.names.length > 0 && !types.some((type) => type !== null && isFinalProblem(type)))
    return 'authorization_failed';
  return 'ca_rejected';
}

function words(authority: string, { names, why, whatToDo }: FailedOrder): string {
  if (names.length === 0) return `The CA ${authority} gave the order up. ${why} ${whatToDo}`;
  const told = names.map((name) => `${name.dnsName}: ${name.why} ${name.whatToDo}`);
  return `The CA ${authority} gave the order up. ${shortened(told)}`;
}

function shortened(texts: readonly string[]): string {
  const more = texts.length - namesInMessage;
  const shown = texts.slice(0, namesInMessage).join(' ');
  return more > 0 ? `${shown} And ${more} more.` : shown;
}
