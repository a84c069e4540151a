import { Rounds, RunningProcess } from '@certwright/service';
import { Inject, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { BuiltInCa } from '../certificate-authorities/built-in/built-in-ca';
import { CertificateAuthoritiesModule } from '../certificate-authorities/certificate-authorities.module';
import { Config } from '../config';
import { LogSubmissions } from './log-submissions';
import { submitToLogs } from './submit-to-logs';

/** One round per log, if there is a built-in CA. */
@Injectable()
class LogRounds implements OnModuleInit {
  constructor(
    private readonly rounds: Rounds,
    private readonly submissions: LogSubmissions,
    private readonly running: RunningProcess,
    @Inject(Config) private readonly config: Config,
    @Inject(BuiltInCa) private readonly builtInCa: BuiltInCa | null,
  ) {}

  onModuleInit(): void {
    if (this.builtInCa === null) return;
    const own = submitToLogs(this.config, this.running, this.submissions);
    for (const [name, round] of Object.entries(own)) this.rounds.add(name, round);
  }
}

/** Certificates of the built-in CA, submitted to Certificate Transparency logs. */
@Module({ imports: [CertificateAuthoritiesModule], providers: [LogRounds, LogSubmissions] })
export class LogSubmissionsModule {}
