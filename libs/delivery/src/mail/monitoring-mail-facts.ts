import type { MailKind } from '@certwright/core-schema';

/** Certificates in one mail; those beyond it are counted. */
export const maxCertificatesInMail = 50;

/** Endpoints in one mail; those beyond it are counted. */
export const maxEndpointsInMail = 50;

/** Unknown certificates in the summary of a domain that was added. */
export const maxBackfilledInMail = 20;

export type MonitoringMailKind = Extract<MailKind, `monitoring-${string}`>;

/** Parameters of the mails about certificate monitoring. Times are in ISO 8601. */
export interface MonitoringMailFacts {
  /** Unknown certificates. Not sent if all of them became known or acknowledged. */
  'monitoring-certificates': {
    /** Findings of the account, in hexadecimal, max `maxCertificatesInMail`. */
    readonly tbsSha256: readonly string[];
    readonly occasion: 'at-once' | 'gathered' | 'digest';
  };
  /** What the index had for a domain that was added, or is no longer excluded, and for others of about the same time. */
  'monitoring-backfill': {
    /** `change_id` of the `monitoring_backfill`. */
    readonly backfillId: string;
    /** Other domains for which certificates were found, in total. Absent: none. */
    readonly others?: { readonly domains: number; readonly found: number; readonly unknown: number };
    /** Null: the index has every certificate that is valid; else it has those that were logged since then. */
    readonly indexSince: string | null;
  };
  /** The limit of findings per day was reached. */
  'monitoring-overflow': {
    readonly since: string;
    /** Certificates beyond the limit, so far. */
    readonly counted: number;
  };
  'monitoring-behind': {
    readonly since: string;
    /** Everything that the index had at this time was matched. */
    readonly followedTo: string;
  };
  'monitoring-caught-up': {
    readonly since: string;
    readonly followedTo: string;
  };
  /** What happened between two times. */
  'monitoring-heartbeat': {
    readonly since: string;
    readonly until: string;
    readonly followedTo: string;
    /** Names of logs that cannot be read up to their end. */
    readonly laggingLogs: readonly string[];
  };
  'monitoring-not-logged':
    | {
        /** A certificate of the account is not in the index. */
        readonly problem: 'not-logged';
        readonly certificateId: string;
      }
    | {
        /** `second-certificate`: two were logged for one issuance. `not-received`: one was logged, none was received. */
        readonly problem: 'second-certificate' | 'not-received';
        readonly issuanceId: string;
        /** Of the certificate that the account does not have, in hexadecimal. */
        readonly tbsSha256: string;
      };
  /** Problems of endpoints, and those that are gone. */
  'monitoring-endpoints': {
    /** Of `endpoint_report`, in the order in which they were written; endpoints may have several. */
    readonly reportIds: readonly string[];
    readonly occasion: 'at-once' | 'gathered' | 'digest';
  };
  /** To the operator: reports about endpoints are held back, because too many endpoints turned bad. */
  'monitoring-endpoints-held': {
    readonly since: string;
    /** Endpoints that were checked since `countedFrom`, and those of them that turned bad. */
    readonly countedFrom: string;
    readonly checked: number;
    readonly bad: number;
  };
}
