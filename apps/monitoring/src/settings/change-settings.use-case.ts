import { isDeepStrictEqual } from 'node:util';
import { type HttpResponse, type CallerIdentity, jsonResponse } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { MonitoringChanges } from '../changes/monitoring-changes';
import { changedSettings, type MonitoringSettingsRequest } from './settings';
import { MonitoringSettings } from './settings.repository';

@Injectable()
export class ChangeSettings {
  constructor(
    private readonly changes: MonitoringChanges,
    private readonly settings: MonitoringSettings,
  ) {}

  async run(caller: CallerIdentity, request: MonitoringSettingsRequest): Promise<HttpResponse> {
    return await this.changes.run(caller, async ({ tx, accountId, record }) => {
      const before = await this.settings.get(accountId, tx);
      const after = changedSettings(before, request);
      if (!isDeepStrictEqual(before, after)) {
        await this.settings.store(tx, accountId, after);
        await record({ object: 'settings', name: '', action: 'changed', before, after });
      }
      return jsonResponse(200, after);
    });
  }
}
