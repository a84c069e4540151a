import { Batches } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import type { Expansion } from '../wire/expansion';
import type { InstanceJson } from './instance-json';
import { InstanceViews } from './instance-views';

interface PendingRead {
  readonly issuanceId: string;
  readonly expansion: Expansion;
}

/** Instances in one read. */
const maxPerRead = 250;

/**
 * Reads the instances for waiting clients. Many wake up at the same moment, and separate reads would block all other
 * requests from the database: they are read together, one group after another.
 */
@Injectable()
export class ClosedInstances {
  private readonly reads: Batches<PendingRead, InstanceJson | null>;

  constructor(views: InstanceViews) {
    this.reads = new Batches(maxPerRead, async (reads) => await views.ofIssuances(reads));
  }

  /** @returns null when it does not exist */
  async show(issuanceId: string, expansion: Expansion): Promise<InstanceJson | null> {
    return await this.reads.add({ issuanceId, expansion });
  }
}
