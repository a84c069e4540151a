import type { ApprovalMethod, KeyType } from '@certwright/issuance';
import type { StoredSan } from '@certwright/core-schema';

export const certTypes = ['dv', 'ev'] as const;
export type CertType = (typeof certTypes)[number];

/** How one name of an object is approved. */
export interface NameToApprove {
  readonly approvalMethod: ApprovalMethod;
  /** Null unless the method is `email`. */
  readonly approverEmail: string | null;
}

/** Properties of a certificate object that a caller can set, for one common name. */
export interface CertObject extends NameToApprove {
  /** Lower case, A-labels; may begin with `*.`. */
  readonly cn: string;
  readonly type: CertType;
  /** Without the common name; null: default SANs. */
  readonly sans: readonly StoredSan[] | null;
  readonly tags: readonly string[];
  readonly autoRenew: boolean;
  readonly muted: boolean;
  readonly csr: {
    readonly der: Uint8Array;
    /** SHA-256 over the DER SubjectPublicKeyInfo. */
    readonly spkiSha256: Uint8Array;
    readonly keyType: KeyType;
  };
}

/** The object with the columns of its plan. */
export interface StoredCertObject extends CertObject {
  readonly planId: string;
  readonly accountId: string;
  /** The current details as terms: the basis of a buy, a reissue or a renewal. */
  readonly termsId: string;
  readonly revision: number;
  readonly downloadToken: string;
  /** End of the paid term; null: none. */
  readonly paidThrough: Date | null;
  /** The product that it was bought for. */
  readonly paidProduct: string | null;
  /** End of the active instance; null: none. */
  readonly activeUntil: Date | null;
}

/** The name that default SANs add: `www.` is removed or added, `*.` is removed. */
export function defaultSanOf(cn: string): string {
  if (cn.startsWith('www.')) return cn.slice('www.'.length);
  if (cn.startsWith('*.')) return cn.slice('*.'.length);
  return `www.${cn}`;
}

/** Every name of a certificate made from the object, the common name first. */
export function dnsNamesOf({ cn, sans }: Pick<CertObject, 'cn' | 'sans'>): readonly string[] {
  return [cn, ...(sans === null ? [defaultSanOf(cn)] : sans.map(({ value }) => value))];
}
