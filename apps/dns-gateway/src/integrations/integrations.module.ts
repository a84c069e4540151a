import { MemoryTokenBuckets, RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module';
import { GatewayConfig } from '../config';
import { CredentialsModule } from '../credentials/credentials.module';
import { HandleKeys } from '../handles/handle-keys';
import { rulesOf } from '../policy-settings';
import { RecordRules } from '../policy/record-rules';
import { ProvidersModule } from '../providers/providers.module';
import { AddRecord } from './add-record';
import { GatewayController } from './gateway.controller';
import { GetZones } from './get-zones';
import { IntegrationAccess } from './integration-access';
import { MakeIntegration } from './make-integration';
import { RecordedChanges } from './recorded-changes';
import { RefusedHandles } from './refused-handles';
import { RemoveRecord } from './remove-record';
import { RequestBounds } from './request-bounds';
import { ZoneMemory } from './zone-memory';

/** Max integrations whose zones are cached; each takes a few hundred bytes. */
const maxRemembered = 1_000;

function loggedRules(config: GatewayConfig, { log }: RunningProcess): RecordRules {
  const rules = rulesOf(config);
  const { entries, newestSourceDate, sha256 } = rules.underscoredNames.version;
  log.info({ entries, newest_source_date: newestSourceDate, sha256 }, 'underscored names');
  return rules;
}

function loggedHandleKeys({ HANDLE_KEYS }: GatewayConfig, { log }: RunningProcess): HandleKeys {
  log.info({ marks: HANDLE_KEYS.marks() }, 'handle keys');
  return HANDLE_KEYS;
}

@Module({
  imports: [AuditModule, CredentialsModule, ProvidersModule],
  controllers: [GatewayController],
  providers: [
    { provide: RecordRules, inject: [GatewayConfig, RunningProcess], useFactory: loggedRules },
    { provide: HandleKeys, inject: [GatewayConfig, RunningProcess], useFactory: loggedHandleKeys },
    {
      provide: ZoneMemory,
      inject: [GatewayConfig],
      useFactory: ({ ZONES_KEPT: keptMs }: GatewayConfig) =>
        new ZoneMemory({ keptMs, maxEntries: maxRemembered, nowMs: () => performance.now() }),
    },
    {
      provide: RequestBounds,
      inject: [GatewayConfig],
      useFactory: ({ REQUEST_TIME: timeMs, REQUESTS_AT_ONCE: maxConcurrent }: GatewayConfig) =>
        new RequestBounds({ timeMs, maxConcurrent }),
    },
    { provide: MemoryTokenBuckets, useFactory: () => new MemoryTokenBuckets() },
    RefusedHandles,
    RecordedChanges,
    IntegrationAccess,
    MakeIntegration,
    GetZones,
    AddRecord,
    RemoveRecord,
  ],
})
export class IntegrationsModule {}
