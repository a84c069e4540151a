import type { LookUpFailure } from '@certwright/dns-names';
import type { ApprovalMethod } from '../product';
import type { Outcome } from './outcome';

/** A list in a parameter holds the first few items; `more` is the number of omitted ones. */
export interface Listed<T> {
  readonly first: readonly T[];
  readonly more: number;
}

/** What one name server of a zone returns instead of the approval record. */
export type NameServerAnswer =
  /**
   * Its addresses are unknown or not allowed. `detail`: the message of the lookup's exception, without a full stop.
   */
  | { readonly kind: 'no_address'; readonly server: string; readonly detail: string }
  | { readonly kind: 'failure'; readonly server: string; readonly failure: LookUpFailure }
  /** Its response is not authoritative (RFC 1035, section 4.1.1). */
  | { readonly kind: 'lame'; readonly server: string }
  | { readonly kind: 'absent'; readonly server: string; readonly nxdomain: boolean }
  | {
      readonly kind: 'other';
      readonly server: string;
      readonly type: 'CNAME' | 'NS';
      readonly found: Listed<string>;
    };

/** Why a name is not approved, or its standing record is not in place. Servers are `host:port`. */
export type ApprovalOutcome =
  /** Result of each method that counts for the name. */
  | {
      readonly code: 'not_approved';
      readonly ways: readonly { readonly method: ApprovalMethod; readonly outcome: Outcome }[];
    }
  /** The product offers no way to approve the name. */
  | { readonly code: 'no_approval_way'; readonly dnsName: string }
  /** The one way that counts for the name cannot be used. */
  | {
      readonly code: 'approval_way_unusable';
      readonly dnsName: string;
      readonly reason: 'not_offered' | 'no_approver' | 'wildcard' | 'name';
    }
  | {
      readonly code: 'dns_record_missing';
      readonly name: string;
      readonly expected: string;
      readonly found: 'nxdomain' | 'no_record';
      readonly server: string;
    }
  /** `at`: where the chain of CNAME records that begins at `name` ends; equal to `name` for NS records. */
  | {
      readonly code: 'dns_record_differs';
      readonly name: string;
      readonly expected: string;
      readonly type: 'CNAME' | 'NS';
      readonly found: Listed<string>;
      /** Some of the NS records are as expected. */
      readonly isPartial: boolean;
      readonly server: string;
    }
  | {
      readonly code: 'dns_record_invalid';
      readonly name: string;
      readonly fault: 'several' | 'circle' | 'too_long';
      /** The targets of several records, a name in the loop, or empty. */
      readonly found: Listed<string>;
      readonly server: string;
    }
  /** `name` leads to `at` by CNAME records, or is `at`. */
  | {
      readonly code: 'dns_lookup_failed';
      readonly name: string;
      readonly at: string;
      readonly expected: string;
      readonly failure: LookUpFailure;
      readonly server: string;
    }
  | { readonly code: 'dns_zone_unknown'; readonly dnsName: string }
  /** `failure` null: the zone has no NS record. */
  | {
      readonly code: 'name_servers_unknown';
      readonly zone: string;
      readonly failure: LookUpFailure | null;
      readonly server: string;
    }
  | { readonly code: 'name_servers_differ'; readonly servers: Listed<NameServerAnswer> }
  /** A record that an integration of the account publishes. */
  | {
      readonly code: 'record_not_ready';
      readonly integrationId: string;
      readonly stage: 'removing' | 'replaced' | 'failing' | 'adding' | 'added';
      readonly problem: Outcome | null;
    }
  /** The record was in place and was replaced by a different record, which is left unchanged. */
  | { readonly code: 'record_replaced'; readonly found: Outcome }
  | { readonly code: 'integration_deleted' }
  /** `fault`: the error code of the DNS gateway. `saying`: its message, which may quote the DNS provider. */
  | { readonly code: 'dns_gateway_failed'; readonly fault: string; readonly saying: string }
  | {
      readonly code: 'web_server_differs';
      readonly url: string;
      /** Target of the redirects; null: no other place. */
      readonly leadsTo: string | null;
      readonly status: number;
      /** Body of a response with status 200 instead of the challenge; null for every other status. */
      readonly body: 'empty' | 'html' | 'long_text' | 'other_value' | null;
      /** Of `other_value`. */
      readonly bodyCharacters: number;
    }
  /** `detail`: how the prober describes it; null: no response in time. */
  | { readonly code: 'web_server_unreachable'; readonly url: string; readonly detail: string | null }
  /** RFC 3339 everywhere below. */
  | { readonly code: 'approval_mail_limit_reached'; readonly address: string; readonly until: string }
  | { readonly code: 'approval_mail_undeliverable'; readonly address: string; readonly askedAt: string }
  | { readonly code: 'approval_mail_unanswered'; readonly address: string; readonly askedAt: string };

/** How many of them a parameter holds. */
const maxListed = 3;

export function listed<T>(all: readonly T[]): Listed<T> {
  return { first: all.slice(0, maxListed), more: Math.max(0, all.length - maxListed) };
}
