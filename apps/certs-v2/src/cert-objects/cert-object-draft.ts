import type { StoredSan } from '@certwright/core-schema';
import type { ApprovalMethod } from '@certwright/issuance';
import type { Csr } from '@certwright/pki';
import { missingParam } from '../wire/arguments';
import { Refusal } from '../wire/reasons';
import type { CertObject, NameToApprove } from './cert-object';
import { type CertObjectRequest, emailNeedsApprover } from './cert-object-request';
import { modifiedTags } from './tags';

/**
 * A new object: what was left out gets its default.
 *
 * @throws Refusal `missing_param`, and what `modifiedCertObject` throws
 */
export function newCertObject(cn: string, request: CertObjectRequest): CertObject {
  const { csr, approval_method: approvalMethod, approver_email, type = 'dv', sans = null } = request;
  if (csr === undefined) throw missingParam('csr');
  if (approvalMethod === undefined) throw missingParam('approval_method');
  if (approvalMethod === 'email' && approver_email === undefined) throw missingParam('approver_email');
  return {
    cn,
    type,
    approvalMethod,
    approverEmail: approverFor(approvalMethod, approver_email ?? null),
    sans,
    tags: modifiedTags([], request.tags, request['tags.TAGNAME']),
    autoRenew: request.auto_renew ?? true,
    muted: request.muted ?? false,
    csr: storedCsr(csr),
  };
}

/**
 * The object that results: only what was supplied changes. `cert-object-rules.ts` checks it.
 *
 * @throws Refusal `missing_param`, `bad_approver_email`, `bad_tags`, `bad_keytype`
 */
export function modifiedCertObject(before: CertObject, request: CertObjectRequest): CertObject {
  const { sans = before.sans } = request;
  return {
    cn: before.cn,
    type: request.type ?? before.type,
    ...modifiedApproval(before, request),
    // Another sequence of the same SANs is no change: the object keeps the one it has.
    sans: sameSans(before.sans, sans) ? before.sans : sans,
    tags: modifiedTags(before.tags, request.tags, request['tags.TAGNAME']),
    autoRenew: request.auto_renew ?? before.autoRenew,
    muted: request.muted ?? before.muted,
    csr: request.csr === undefined ? before.csr : storedCsr(request.csr),
  };
}

/** A change from `email` drops the address; a change to it needs one. */
function modifiedApproval(before: NameToApprove, request: CertObjectRequest): NameToApprove {
  const { approval_method: approvalMethod = before.approvalMethod } = request;
  const kept = approvalMethod === 'email' ? before.approverEmail : null;
  const address = request.approver_email ?? kept;
  if (approvalMethod === 'email' && address === null) throw missingParam('approver_email');
  return { approvalMethod, approverEmail: approverFor(approvalMethod, address) };
}

/**
 * The address that a method uses: `email` needs one, and the others ignore it. Existing clients send the address that they
 * have read along with the method that replaces it.
 */
function approverFor(method: ApprovalMethod, address: string | null): string | null {
  if (method !== 'email') return null;
  if (address !== null && address !== '') return address;
  throw new Refusal('bad_approver_email', emailNeedsApprover, { param: 'approver_email' });
}

function storedCsr({ der, spkiSha256, keyType }: Csr): CertObject['csr'] {
  if (keyType === undefined) {
    throw new Refusal('bad_keytype', 'The key of the CSR is neither RSA nor ECDSA.', { param: 'csr' });
  }
  return { der, spkiSha256: Buffer.from(spkiSha256, 'hex'), keyType };
}

/** What a modification changes, each including what stands before it. */
export interface Changes {
  /** Which names there are and how they are approved, or by which product. */
  readonly approvals: boolean;
  /** What a certificate is made from. */
  readonly terms: boolean;
  readonly any: boolean;
}

/** `after` was made from `before`: SANs that are the same are the very same. */
export function changesOf(before: CertObject, after: CertObject): Changes {
  const approvals =
    before.type !== after.type ||
    before.approvalMethod !== after.approvalMethod ||
    before.approverEmail !== after.approverEmail ||
    before.sans !== after.sans;
  const terms = approvals || Buffer.compare(before.csr.der, after.csr.der) !== 0;
  const any =
    terms ||
    before.autoRenew !== after.autoRenew ||
    before.muted !== after.muted ||
    !sameList(before.tags, after.tags);
  return { approvals, terms, any };
}

function sameList(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((each, at) => each === others[at]);
}

/** The same set, approved in the same ways; no name stands in either twice. */
function sameSans(some: CertObject['sans'], others: CertObject['sans']): boolean {
  if (some === null || others === null) return some === others;
  const known = new Set(some.map(sanKey));
  return some.length === others.length && others.every((san) => known.has(sanKey(san)));
}

function sanKey({ value, approvalMethod, approverEmail }: StoredSan): string {
  return `${value} ${approvalMethod} ${approverEmail ?? ''}`;
}
