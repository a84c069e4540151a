import { LeaseLost, leases } from '@certwright/postgres';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type HostLease } from './host-lease';

/** A list to fetch: it is needed, and its signature can be verified. */
export const isWanted = `(crl.role IS NOT NULL OR crl.needed_until > clock_timestamp())
  AND EXISTS (SELECT FROM ct_issuer WHERE ct_issuer.id = crl.issuer AND ct_issuer.spki_der IS NOT NULL)`;

/** Leases of hosts: one process at a time sends requests to a host. */
@Injectable()
export class CrlHosts {
  constructor(private readonly database: DataSource) {}

  /** Adds the hosts of new lists. */
  async discover(): Promise<void> {
    await this.database.query(
      `INSERT INTO ct_crl_host (host) SELECT DISTINCT host FROM ct_crl
       WHERE NOT EXISTS (SELECT FROM ct_crl_host AS known WHERE known.host = ct_crl.host) ON CONFLICT DO NOTHING`,
    );
  }

  /**
   * The host with a due list that has waited longest; null: none. Failed hosts come last, so that many slow ones do not
   * delay the others.
   */
  async lease(leaseMs: number): Promise<HostLease | null> {
    const [rows] = await this.database.query<[HostLease[], number]>(
      `UPDATE ct_crl_host SET ${leases.take('$1')}
       WHERE host = (
         SELECT host FROM ct_crl_host AS each
         WHERE rests_until <= clock_timestamp() AND ${leases.isFree()}
           AND EXISTS (
             SELECT FROM ct_crl AS crl WHERE crl.host = each.host AND due_at <= clock_timestamp() AND ${isWanted})
         ORDER BY failures > 0, rests_until LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING host, lease_token AS token, failures`,
      [leaseMs],
    );
    return rows[0] ?? null;
  }

  /** @throws LeaseLost */
  async lengthen(lease: HostLease, leaseMs: number): Promise<void> {
    await this.write(lease, leases.extend('$3'), [leaseMs]);
  }

  /** Releases the host. @param failures consecutive: 0 unless nothing could be fetched @throws LeaseLost */
  async release(lease: HostLease, restMs: number, failures: number): Promise<void> {
    await this.write(
      lease,
      `${leases.release}, rests_until = clock_timestamp() + $3::int * interval '1 millisecond', failures = $4::int`,
      [restMs, failures],
    );
  }

  private async write(lease: HostLease, change: string, values: readonly unknown[]): Promise<void> {
    const [, written] = await this.database.query<[unknown, number]>(
      `UPDATE ct_crl_host SET ${change}
       WHERE host = $1 AND ${leases.isHeld('$2')}`,
      [lease.host, lease.token, ...values],
    );
    if (written === 0) throw new LeaseLost('ct_crl_host', lease.host, lease.token);
  }
}
