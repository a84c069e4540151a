import { OwnDeployment } from '@certwright/core-schema';
import { Rounds, RunningProcess } from '@certwright/service';
import { Inject, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../../config';
import { BuiltInCa } from './built-in-ca';
import { CaIssuers } from './ca-issuers';
import { CaSignings } from './ca-signings';
import { Intermediates, refreshEveryMs } from './intermediates';
import { caKeysOf, rootKeyBeside } from './keys/key-settings';
import { observeIntermediates } from './observe-intermediates';
import { RevocationLists } from './revocation-lists';

/** Reads certificates and keys again and again, so that a renewal needs no restart. */
@Injectable()
class IntermediateRounds implements OnModuleInit {
  constructor(
    private readonly rounds: Rounds,
    private readonly running: RunningProcess,
    @Inject(Config) private readonly config: Config,
    @Inject(Intermediates) private readonly intermediates: Intermediates | null,
  ) {}

  onModuleInit(): void {
    const { intermediates } = this;
    if (intermediates === null) return;
    const observe = observeIntermediates(this.running, intermediates);
    const file = rootKeyBeside(this.config);
    if (file !== null)
      this.running.log.warn(
        { file },
        'the root key is in BUILT_IN_CA_DIR; move it offline, as docs/operating.md says in "Keys of the built-in CA"',
      );
    this.rounds.add('intermediates', async () => {
      await intermediates.refresh();
      observe();
      return refreshEveryMs;
    });
  }
}

/** The built-in CA and its intermediates; both are null without BUILT_IN_CA. */
@Module({
  providers: [
    CaIssuers,
    CaSignings,
    IntermediateRounds,
    RevocationLists,
    {
      provide: Intermediates,
      // Keys are used only if the database belongs to this deployment.
      inject: [Config, RunningProcess, DataSource, CaIssuers, OwnDeployment],
      useFactory: (
        config: Config,
        running: RunningProcess,
        database: DataSource,
        issuers: CaIssuers,
      ): Intermediates | null => {
        if (config.CERTWRIGHT_MODE === 'production' && !config.BUILT_IN_CA) return null;
        const keys = caKeysOf(config, database);
        running.opened('keys of the built-in CA', async () => await keys.close());
        return new Intermediates(issuers, keys, config.CA_PUBLICATION_URL);
      },
    },
    {
      provide: BuiltInCa,
      inject: [Intermediates, CaSignings, RevocationLists],
      useFactory: (intermediates: Intermediates | null, signings: CaSignings, lists: RevocationLists) =>
        intermediates && new BuiltInCa(intermediates, signings, lists),
    },
  ],
  exports: [BuiltInCa],
})
export class BuiltInCaModule {}
