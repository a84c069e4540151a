import type { AcmeFaultKind } from '../acme-fault';

/** One exchange, for metrics and logs: no URL, no key, nothing that the other side wrote. */
export interface AcmeExchange {
  /** What was asked: `newOrder`, `readOrder`, `newNonce` … */
  readonly operation: string;
  readonly method: 'GET' | 'HEAD' | 'POST';
  /** Null without an answer. */
  readonly status: number | null;
  /** Why there is no answer; null with one, whatever its status. */
  readonly fault: AcmeFaultKind | null;
  /** How often this request was repeated before, for a nonce that was refused. */
  readonly repeat: number;
  readonly durationMs: number;
}

export type AcmeObserver = (exchange: AcmeExchange) => void;
