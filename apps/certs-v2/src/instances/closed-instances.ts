import { Injectable } from '@nestjs/common';
import type { Expansion } from '../wire/expansion';
import type { InstanceJson } from './instance-json';
import { InstanceViews } from './instance-views';

interface PendingRead {
  readonly issuanceId: string;
  readonly expansion: Expansion;
  readonly resolve: (shown: InstanceJson | null) => void;
  readonly reject: (error: unknown) => void;
}

/** Instances in one read. */
const maxPerRead = 250;

/**
 * Reads the instances for waiting clients. Many wake up at the same moment, and separate reads would block all other
 * requests from the database: they are read together, one group after another.
 */
@Injectable()
export class ClosedInstances {
  private queue: PendingRead[] = [];
  private reading = false;

  constructor(private readonly views: InstanceViews) {}

  /** @returns null when it does not exist */
  async show(issuanceId: string, expansion: Expansion): Promise<InstanceJson | null> {
    return await new Promise((resolve, reject) => {
      this.queue.push({ issuanceId, expansion, resolve, reject });
      if (!this.reading) void this.read();
    });
  }

  /** Never rejects. */
  private async read(): Promise<void> {
    this.reading = true;
    // All clients that wake up by the same event call before the next turn of the event loop.
    await new Promise(setImmediate);
    while (this.queue.length > 0) {
      const batch = this.queue.splice(0, maxPerRead);
      try {
        const shown = await this.views.ofIssuances(batch);
        batch.forEach(({ resolve }, index) => resolve(shown[index] ?? null));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.reading = false;
  }
}
