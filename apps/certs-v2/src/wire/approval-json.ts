import { standingRecords } from '@certwright/dns-names';
import type { ApprovalWay } from '@certwright/issuance';
import type { DelegationLabels } from '@certwright/approvals';

/** Where approvals lead to. */
export interface ApprovalPlaces {
  /** The zone that standing approval records point into, without a dot at its end. */
  readonly approvalZone: string;
  /** Where web servers redirect to, without a slash at its end. */
  readonly approvalUrl: string;
}

/** What the approvals of one account are shown with. */
export interface ApprovalFacts {
  /** Of every place where a record is to stand. */
  readonly labels: DelegationLabels;
  /** The secret in the path that the account's web servers redirect to; null: nobody was told one yet. */
  readonly ruleSecret: string | null;
}

/** Whether an approval is in place; undefined: nobody wants to know. */
type Ready = boolean | undefined;

/** What is shown of one name's approval. */
export interface ShownApproval {
  readonly way: Pick<ApprovalWay, 'method' | 'approverEmail'>;
  /** The name whose standing record counts, without `*.`. */
  readonly recordPlace: string;
  readonly ready: { readonly dns: Ready; readonly http: Ready };
}

/** The members that an object and a SAN have in common. */
export function approvalJson(
  { way, recordPlace, ready }: ShownApproval,
  { labels, ruleSecret }: ApprovalFacts,
  { approvalZone, approvalUrl }: ApprovalPlaces,
): object {
  const { method: approval_method, approverEmail } = way;
  switch (approval_method) {
    case 'email':
      return { approval_method, approver_email: approverEmail };
    case 'http': {
      const rule = ruleSecret === null ? {} : ruleJson(`${approvalUrl}/${ruleSecret}`);
      return { approval_method, http_approval: { ...rule, ...statusJson(ready.http) } };
    }
    case 'dns': {
      const label = labels.get(recordPlace);
      const options = label === undefined ? [] : standingRecords(recordPlace, label, approvalZone);
      return { approval_method, dns_approval: { options, ...statusJson(ready.dns) } };
    }
  }
}

/**
 * Below which paths of its host a CA looks: the ACME challenge of RFC 8555, section 8.3, and the agreed-upon change to a web
 * site of the Baseline Requirements, section 3.2.2.4.18.
 */
const rulePathPrefixes = ['/.well-known/acme-challenge/', '/.well-known/pki-validation/'];

/** A web server that leads requests below the prefixes there is approved, now and at every renewal. */
function ruleJson(redirect_to: string): object {
  return { path_prefixes: rulePathPrefixes, redirect_to };
}

function statusJson(ready: Ready): object {
  return ready === undefined ? {} : { status: { ready } };
}
