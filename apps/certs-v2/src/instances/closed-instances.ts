import { Injectable } from '@nestjs/common';
import type { Expansion } from '../wire/expansion';
import type { InstanceJson } from './instance-json';
import { InstanceViews } from './instance-views';

interface Asked {
  readonly issuanceId: string;
  readonly expansion: Expansion;
  readonly resolve: (shown: InstanceJson | null) => void;
  readonly reject: (error: unknown) => void;
}

/** Instances of one reading. */
const mostTogether = 250;

/**
 * Reads the instances for waiting clients. Many wake up at the same moment, and separate reads would block all other
 * requests from the database: they are read together, one group after another.
 */
@Injectable()
export class ClosedInstances {
  private asked: Asked[] = [];
  private reading = false;

  constructor(private readonly views: InstanceViews) {}

  /** @returns null when it does not exist */
  async show(issuanceId: string, expansion: Expansion): Promise<InstanceJson | null> {
    return await new Promise((resolve, reject) => {
      this.asked.push({ issuanceId, expansion, resolve, reject });
      if (!this.reading) void this.read();
    });
  }

  /** Never rejects. */
  private async read(): Promise<void> {
    this.reading = true;
    // All clients that wake up by the same event call before the next turn of the event loop.
    await new Promise(setImmediate);
    while (this.asked.length > 0) {
      const together = this.asked.splice(0, mostTogether);
      try {
        const shown = await this.views.ofIssuances(together);
        together.forEach(({ resolve }, index) => resolve(shown[index] ?? null));
      } catch (error) {
        for (const { reject } of together) reject(error);
      }
    }
    this.reading = false;
  }
}
