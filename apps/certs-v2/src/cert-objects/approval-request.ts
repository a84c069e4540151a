import type { ApprovalMethod } from '@certwright/issuance';
import { approvalMethods } from '../wire/approval-json';
import { Refusal } from '../wire/reasons';

/** @throws Refusal `bad_approval_method` on the parameter */
export function readApprovalMethod(value: unknown, param: string): ApprovalMethod {
  const method = approvalMethods.find((each) => each === value);
  if (method !== undefined) return method;
  throw new Refusal('bad_approval_method', 'approval_method must be email, http or dns.', { param });
}

/** ASCII alone: other characters fold to ASCII letters (U+212A to k). */
export function lowerCaseAddress(address: string): string {
  return address.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/**
 * The address that a method uses: `email` needs one, and the others ignore it. Existing clients send the address that they
 * have read along with the method that is to take its place.
 *
 * @param address in lower case; null: none was given
 * @throws Refusal `bad_approver_email` on the parameter
 */
export function approverFor(method: ApprovalMethod, address: string | null, param: string): string | null {
  if (method !== 'email') return null;
  if (address !== null && address !== '') return address;
  throw new Refusal('bad_approver_email', 'The approval method email needs an approver_email.', { param });
}
