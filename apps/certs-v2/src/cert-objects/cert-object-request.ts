import type { ApprovalMethod } from '@certwright/issuance';
import type { StoredSan } from '@certwright/core-schema';
import type { Csr } from '@certwright/pki';
import { type Arguments, badParam } from '../wire/arguments';
import { lowerCaseAddress, readApprovalMethod } from './approval-request';
import type { CertType } from './cert-object';
import { readCsrArgument } from './csr-request';
import { readSans } from './sans-request';
import { readTags, type TagWishes } from './tags';

/** What a caller asks for; undefined: nothing is said about it. */
export interface CertObjectWishes {
  readonly type: CertType | undefined;
  readonly approvalMethod: ApprovalMethod | undefined;
  /** In lower case; may be empty. */
  readonly approverEmail: string | undefined;
  /** Null: default SANs. */
  readonly sans: readonly StoredSan[] | null | undefined;
  readonly tags: TagWishes;
  readonly autoRenew: boolean | undefined;
  readonly muted: boolean | undefined;
  /** Read, and not yet judged. */
  readonly csr: Csr | undefined;
}

/**
 * Every argument by itself; what they mean together is for `cert-object-rules.ts`. The one that decides which others are
 * needed is read first, and the one that costs most last.
 *
 * @throws Refusal for the first that cannot be read
 */
export function readCertObjectRequest(given: Arguments): CertObjectWishes {
  const type = readType(given.text('type'));
  const method = given.text('approval_method');
  const address = given.text('approver_email');
  const csr = given.text('csr');
  return {
    type,
    approvalMethod: method === undefined ? undefined : readApprovalMethod(method, 'approval_method'),
    approverEmail: address === undefined ? undefined : lowerCaseAddress(address),
    sans: given.has('sans') ? readSans(given.json('sans', 'bad_sans')) : undefined,
    tags: readTags(given),
    autoRenew: given.boolean('auto_renew'),
    muted: given.boolean('muted'),
    csr: csr === undefined ? undefined : readCsrArgument(csr),
  };
}

function readType(type: string | undefined): CertType | undefined {
  if (type === undefined || type === 'dv' || type === 'ev') return type;
  throw badParam('type', 'bad_type', 'must be dv or ev.');
}
