import {
  BodyOf,
  Caller,
  type CallerIdentity,
  jsonResponse,
  type ReadMembers,
  RequirePermission,
  sendResponse,
  validMembers,
} from '@certwright/service';
import { Controller, Get, Post, Res } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { FailsWith, posted } from '../wire/documented-errors';
import { ChangeSettings } from './change-settings.use-case';
import { MonitoringSettingsRequest, MonitoringSettingsSchema } from './settings';
import { MonitoringSettings } from './settings.repository';

@Controller('api/v3/monitoring/settings')
@RequirePermission('Manage Monitored Domains')
@ApiTags('Settings')
@ApiBasicAuth()
@ApiBearerAuth()
export class SettingsController {
  constructor(
    private readonly settings: MonitoringSettings,
    private readonly changing: ChangeSettings,
  ) {}

  @Get()
  @ApiOperation({ operationId: 'getMonitoringSettings', summary: 'Retrieves the settings of the account' })
  @ApiResponse({ status: 200, description: 'Success', type: MonitoringSettingsSchema })
  @FailsWith()
  async retrieve(@Caller() { accountId }: CallerIdentity, @Res() reply: FastifyReply) {
    sendResponse(reply, jsonResponse(200, await this.settings.get(accountId)));
  }

  @Post()
  @ApiOperation({
    operationId: 'changeMonitoringSettings',
    summary: 'Changes settings; members that are left out keep their value',
  })
  @ApiResponse({ status: 200, description: 'Success', type: MonitoringSettingsSchema })
  @FailsWith({ bad_settings: 'The body is not valid; see sub_errors', ...posted })
  async change(
    @Caller() caller: CallerIdentity,
    @BodyOf(MonitoringSettingsRequest) request: ReadMembers<MonitoringSettingsRequest>,
    @Res() reply: FastifyReply,
  ) {
    sendResponse(reply, await this.changing.run(caller, validMembers(request)));
  }
}
