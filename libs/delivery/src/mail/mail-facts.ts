import type { MailKind } from '@certwright/core-schema';

/** What a mail is about, by kind: ids only; all else is read when it is sent. */
export interface MailFacts {
  'approval-request': { readonly approvalId: string };
  'expiration-notice': { readonly certificateId: string; readonly thresholdDays: number };
  'webhook-disabled': { readonly endpointId: string };
  invoice: { readonly invoiceNumber: string };
  'renewal-unpaid': { readonly planId: string };
  'certificate-issued': { readonly certificateId: string };
  /** One of those that were revoked together. */
  'revocation-complete': { readonly certificateId: string };
}

export type NewMail = {
  [K in MailKind]: {
    readonly accountId: string;
    readonly kind: K;
    readonly recipient: string;
    readonly facts: MailFacts[K];
  };
}[MailKind];
