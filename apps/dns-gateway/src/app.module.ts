import { type DynamicModule, Module } from '@nestjs/common';
import type { AuditLog } from './audit/audit-log';
import type { CredentialKeys } from './credentials/credential-keys';
import { Describing } from './description/describing';
import { DescriptionController } from './description/description.controller';
import type { HandleKeys } from './handles/handle-keys';
import { AddRecord } from './integrations/add-record';
import { GetZones } from './integrations/get-zones';
import { IntegrationAccess, type Providers } from './integrations/integration-access';
import { MakeIntegration } from './integrations/make-integration';
import type { OwnAdditions } from './integrations/own-additions';
import { RecordedChanges } from './integrations/recorded-changes';
import { RefusedHandles } from './integrations/refused-handles';
import { RemoveRecord } from './integrations/remove-record';
import { RequestBounds } from './integrations/request-bounds';
import type { ZoneMemory } from './integrations/zone-memory';
import type { RecordRules } from './policy/record-rules';
import type { ProviderPorts } from './providers/dns-provider';
import { type Logger, MemoryTokenBuckets } from '@certwright/service';
import { GatewayController } from './integrations/gateway.controller';

/** What the gateway is made of; all of it lives as long as the process. */
export interface GatewayParts {
  readonly bounds: RequestBounds;
  readonly handles: HandleKeys;
  readonly credentialKeys: CredentialKeys;
  readonly providers: Providers;
  readonly ports: ProviderPorts;
  readonly memory: ZoneMemory;
  readonly rules: RecordRules;
  readonly audit: AuditLog;
  readonly own: OwnAdditions;
  readonly log: Logger;
}

@Module({})
export class AppModule {
  static of(parts: GatewayParts): DynamicModule {
    const { bounds, handles, credentialKeys, providers, ports, memory, rules, audit, own, log } = parts;
    const refusedHandles = new RefusedHandles(audit, new MemoryTokenBuckets(), log);
    const access = new IntegrationAccess(handles, providers, ports, refusedHandles, log);
    const changes = new RecordedChanges(audit, own, log);
    const useCases = [
      bounds,
      new MakeIntegration(handles, providers, ports, credentialKeys),
      new GetZones(access, memory),
      new AddRecord(access, memory, rules, changes, handles, own),
      new RemoveRecord(access, changes, handles, log),
      new Describing(credentialKeys, providers),
    ];
    return {
      module: AppModule,
      controllers: [GatewayController, DescriptionController],
      providers: useCases.map((useCase) => ({ provide: useCase.constructor, useValue: useCase })),
    };
  }
}
