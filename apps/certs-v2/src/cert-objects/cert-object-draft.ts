import type { StoredSan } from '@certwright/core-schema';
import type { Csr } from '@certwright/pki';
import { missingParam } from '../wire/arguments';
import { Refusal } from '../wire/reasons';
import { approverFor } from './approval-request';
import type { CertObject, NameToApprove } from './cert-object';
import type { CertObjectWishes } from './cert-object-request';
import { modifiedTags } from './tags';

/**
 * A new object: what was left out gets its default.
 *
 * @throws Refusal `missing_param`, and what `modifiedCertObject` throws
 */
export function newCertObject(cn: string, wishes: CertObjectWishes): CertObject {
  const { csr, approvalMethod, approverEmail, type = 'dv', sans = null, tags } = wishes;
  if (csr === undefined) throw missingParam('csr');
  if (approvalMethod === undefined) throw missingParam('approval_method');
  if (approvalMethod === 'email' && approverEmail === undefined) throw missingParam('approver_email');
  return {
    cn,
    type,
    approvalMethod,
    approverEmail: approverFor(approvalMethod, approverEmail ?? null, 'approver_email'),
    sans,
    tags: modifiedTags([], tags),
    autoRenew: wishes.autoRenew ?? true,
    muted: wishes.muted ?? false,
    csr: storedCsr(csr),
  };
}

/**
 * The object that results: only what was supplied changes. What is wrong with it, `cert-object-rules.ts` tells.
 *
 * @throws Refusal `missing_param`, `bad_approver_email`, `bad_tags`, `bad_keytype`
 */
export function modifiedCertObject(before: CertObject, wishes: CertObjectWishes): CertObject {
  const { sans = before.sans } = wishes;
  return {
    cn: before.cn,
    type: wishes.type ?? before.type,
    ...modifiedApproval(before, wishes),
    // Another sequence of the same SANs is no change: the object keeps the one it has.
    sans: sameSans(before.sans, sans) ? before.sans : sans,
    tags: modifiedTags(before.tags, wishes.tags),
    autoRenew: wishes.autoRenew ?? before.autoRenew,
    muted: wishes.muted ?? before.muted,
    csr: wishes.csr === undefined ? before.csr : storedCsr(wishes.csr),
  };
}

/** Whoever leaves `email` leaves the address behind; whoever comes to it brings one. */
function modifiedApproval(before: NameToApprove, wishes: CertObjectWishes): NameToApprove {
  const { approvalMethod = before.approvalMethod, approverEmail } = wishes;
  const kept = approvalMethod === 'email' ? before.approverEmail : null;
  const address = approverEmail ?? kept;
  if (approvalMethod === 'email' && address === null) throw missingParam('approver_email');
  return { approvalMethod, approverEmail: approverFor(approvalMethod, address, 'approver_email') };
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
