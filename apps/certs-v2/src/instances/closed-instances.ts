import { SharedReads } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import type { Expansion } from '../wire/expansion';
import type { InstanceJson } from './instance-json';
import { InstanceViews } from './instance-views';

interface PendingRead {
  readonly issuanceId: string;
  readonly expansion: Expansion;
}

/**
 * Reads the instances for waiting clients. Many wake up at the same moment, and separate reads would block all other
 * requests from the database: they are read together.
 */
@Injectable()
export class ClosedInstances {
  private readonly reads: SharedReads<PendingRead, InstanceJson | null>;

  constructor(views: InstanceViews) {
    this.reads = new SharedReads(async (reads) => await views.ofIssuances(reads));
  }

  /** @returns null when it does not exist */
  async show(issuanceId: string, expansion: Expansion): Promise<InstanceJson | null> {
    return await this.reads.read({ issuanceId, expansion });
  }
}
