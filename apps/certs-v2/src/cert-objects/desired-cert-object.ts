import type { StoredSan } from '@certwright/core-schema';
import type { ApprovalMethod, Product } from '@certwright/issuance';
import { type Csr, readCsr } from '@certwright/pki';
import { badParam, missingParam } from '../wire/arguments';
import { Refusal } from '../wire/reasons';
import type { CertObject, NameToApprove } from './cert-object';
import { badCsr, type CertObjectRequest, emailNeedsApprover } from './cert-object-request';
import { assertNamesFit } from './cert-object-rules';
import type { ProductsByType } from './cert-products';
import { assertCsrFits } from './csr-rules';
import { modifiedTags } from './tags';

/** Inputs that had to be looked up. */
export interface DesiredFacts {
  readonly products: ProductsByType;
  /** The key of the submitted CSR is known to be compromised. */
  readonly keyBlocked: boolean;
}

const everything: Changes = { approvals: true, terms: true, any: true };

/**
 * The object that results from a request. If the object already violates a rule, because the product changed later,
 * the rule only blocks changes of the properties that it covers.
 *
 * @param before null: the account has no object of this common name
 * @throws Refusal for the first thing that is wrong
 */
export function desiredCertObject(
  before: CertObject | null,
  cn: string,
  request: CertObjectRequest,
  { products, keyBlocked }: DesiredFacts,
): CertObject {
  const after = before === null ? newCertObject(cn, request) : modifiedCertObject(before, request);
  const changes = before === null ? everything : changesOf(before, after);
  if (!changes.terms) return after;
  const product = productOf(before, after, products);
  if (changes.approvals) assertNamesFit(after, product);
  if (request.csr !== undefined) assertCsrFits(request.csr, after, product, keyBlocked);
  else assertStoredCsrFits(after, product);
  return after;
}

/** A product that is no longer sold can still be reissued, but gets no new objects. */
function productOf(before: CertObject | null, after: CertObject, products: ProductsByType): Product {
  const product = products[after.type];
  if (product !== null && (product.available || before?.type === after.type)) return product;
  throw badParam('type', 'bad_type', `${after.type} is not offered here at present; choose another type.`);
}

/**
 * Its names may have changed, or its product to one that does not accept its key. The key's history is not checked.
 */
function assertStoredCsrFits(object: CertObject, product: Product): void {
  const reading = readCsr(object.csr.der);
  if (!reading.ok) throw badCsr('The CSR of the object cannot be read any more; send a new one.');
  assertCsrFits(reading.csr, object, product, false);
}

/**
 * A new object: omitted properties get their defaults.
 *
 * @throws Refusal `missing_param`, and what `modifiedCertObject` throws
 */
function newCertObject(cn: string, request: CertObjectRequest): CertObject {
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
 * The resulting object: only supplied properties change. `cert-object-rules.ts` checks it.
 *
 * @throws Refusal `missing_param`, `bad_approver_email`, `bad_tags`, `bad_keytype`
 */
function modifiedCertObject(before: CertObject, request: CertObjectRequest): CertObject {
  const { sans = before.sans } = request;
  return {
    cn: before.cn,
    type: request.type ?? before.type,
    ...modifiedApproval(before, request),
    // Another order of the same SANs is no change: the object keeps its order.
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

/** Changes of a modification; each includes the ones before it. */
interface Changes {
  /** The names and their approval methods, or the product. */
  readonly approvals: boolean;
  /** The contents of a certificate. */
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

/** The same set, approved by the same methods; neither has duplicates. */
function sameSans(some: CertObject['sans'], others: CertObject['sans']): boolean {
  if (some === null || others === null) return some === others;
  const known = new Set(some.map(sanKey));
  return some.length === others.length && others.every((san) => known.has(sanKey(san)));
}

function sanKey({ value, approvalMethod, approverEmail }: StoredSan): string {
  return `${value} ${approvalMethod} ${approverEmail ?? ''}`;
}
