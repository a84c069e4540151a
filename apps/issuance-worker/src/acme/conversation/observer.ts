import type { AcmeFaultKind } from '../acme-fault';

/** One exchange, for metrics and logs. Contains no URL, key or data from the server. */
export interface AcmeExchange {
  /** The operation: `newOrder`, `readOrder`, `newNonce` … */
  readonly operation: string;
  readonly method: 'GET' | 'HEAD' | 'POST';
  /** Null without a response. */
  readonly status: number | null;
  /** Why there is no response; null with a response of any status. */
  readonly fault: AcmeFaultKind | null;
  /** Number of earlier attempts with a refused nonce. */
  readonly repeat: number;
  readonly durationMs: number;
}

export type AcmeObserver = (exchange: AcmeExchange) => void;
