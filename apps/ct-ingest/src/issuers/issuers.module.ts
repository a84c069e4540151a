import { IssuerProfiles, knownOrganizationsAsOf } from '@certwright/issuer-profiles';
import { Round, RunningProcess } from '@certwright/service';
import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** How often profiles are matched with new issuers, ms. */
const restMs = 30_000;

/** Stores facts about issuers that their certificates lack. Needs no revocation lists: it also runs with REVOCATION=off. */
@Injectable()
class IssuerFacts implements OnModuleInit {
  constructor(
    private readonly profiles: IssuerProfiles,
    private readonly running: RunningProcess,
  ) {}

  async onModuleInit(): Promise<void> {
    const changed = await this.profiles.keepKnownOrganizations();
    this.running.log.info({ as_of: knownOrganizationsAsOf, changed }, 'known organizations of issuers');
  }

  @Round('matchIssuers')
  async match(): Promise<number> {
    const matched = await this.profiles.match();
    if (matched > 0) this.running.log.info({ matched }, 'issuers recognised');
    return restMs;
  }
}

/** The operator of an issuer. */
@Module({
  providers: [
    IssuerFacts,
    {
      provide: IssuerProfiles,
      inject: [DataSource],
      useFactory: (database: DataSource) => new IssuerProfiles(database),
    },
  ],
})
export class IssuersModule {}
