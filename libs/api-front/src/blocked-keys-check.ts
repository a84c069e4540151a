import { BlockedKeys } from '@certwright/ordering';
import { RunningProcess } from '@certwright/service';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { FrontSettings, type FrontConfig } from './front';

/** Warns in production when no list of blocked keys is loaded. For front ends that accept CSRs. */
@Injectable()
export class BlockedKeysCheck implements OnApplicationBootstrap {
  constructor(
    private readonly keys: BlockedKeys,
    private readonly running: RunningProcess,
    @Inject(FrontSettings) private readonly config: Pick<FrontConfig, 'CERTWRIGHT_MODE'>,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (this.config.CERTWRIGHT_MODE !== 'production' || (await this.keys.isListLoaded())) return;
    this.running.log.warn({ docs: 'docs/operating.md#blocked-keys' }, 'no list of blocked keys loaded');
  }
}
