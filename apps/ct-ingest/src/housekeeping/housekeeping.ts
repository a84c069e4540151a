import { dropExpired, ensurePartitions, shrinkExpired } from '@certwright/ct-index';
import { Round, RunningProcess } from '@certwright/service';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { endSilentClients } from '../logs/silent-clients';
import { removeUnverified } from '../logs/unverified';

/** Longer than any batch takes; scanning an expired partition is slow. */
export const statementTimeoutMs = 60_000;

/** PostgreSQL has no timeout for a statement that waits for its client; a longer wait is taken for a frozen process. */
const silentMs = statementTimeoutMs + 10_000;

const ensureRestMs = 5 * 60_000;
const dropRestMs = 3_600_000;
const silentRestMs = 10_000;
const unverifiedRestMs = 10_000;

/**
 * Creates partitions in advance, shrinks and drops expired ones, ends sessions of frozen copies of this process, and removes
 * unproved issuances of stopped logs.
 */
@Injectable()
export class Housekeeping implements OnModuleInit {
  constructor(
    private readonly database: DataSource,
    private readonly running: RunningProcess,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.ensurePartitions();
  }

  @Round('ensurePartitions')
  async ensurePartitions(): Promise<number> {
    await ensurePartitions(this.database, await this.now());
    return ensureRestMs;
  }

  @Round('dropExpired')
  async dropExpired(): Promise<number> {
    const now = await this.now();
    const shrunk = await shrinkExpired(this.database, now);
    if (shrunk.length > 0) this.running.log.info({ tables: shrunk }, 'partitions reduced to what is valid');
    const tables = await dropExpired(this.database, now);
    if (tables.length > 0) this.running.log.info({ tables }, 'expired partitions dropped');
    return dropRestMs;
  }

  /** By the clock of the database: if that of this process were ahead, valid certificates would be dropped. */
  private async now(): Promise<Date> {
    const [{ now }] = await this.database.query<[{ now: Date }]>(`SELECT clock_timestamp() AS now`);
    return now;
  }

  @Round('endSilent')
  async endSilent(): Promise<number> {
    const sessions = await endSilentClients(this.database, silentMs);
    if (sessions > 0) this.running.log.warn({ sessions }, 'sessions of a frozen process ended');
    return silentRestMs;
  }

  @Round('removeUnverified')
  async removeUnverified(): Promise<number> {
    const issuances = await removeUnverified(this.database);
    if (issuances > 0) this.running.log.warn({ issuances }, 'issuances removed that only a stopped log has');
    return unverifiedRestMs;
  }
}
