import {
  Caller,
  type CallerIdentity,
  jsonResponse,
  RequirePermission,
  sendResponse,
} from '@certwright/service';
import { Controller, Get, Res } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { FailsWith } from '../wire/documented-errors';
import { Following } from './following';
import { MonitoringStatusSchema, statusJson } from './status';
import { MonitoringStatus } from './status.repository';

@Controller('api/v3/monitoring/status')
@RequirePermission('Manage Monitored Domains')
@ApiTags('Status')
@ApiBasicAuth()
@ApiBearerAuth()
export class StatusController {
  constructor(
    private readonly statuses: MonitoringStatus,
    private readonly following: Following,
  ) {}

  @Get()
  @ApiOperation({
    operationId: 'getMonitoringStatus',
    summary: 'Retrieves how far certificates are matched, and limits with their usage',
  })
  @ApiResponse({ status: 200, description: 'Success', type: MonitoringStatusSchema })
  @FailsWith()
  async retrieve(@Caller() { accountId }: CallerIdentity, @Res() reply: FastifyReply) {
    const [follower, logs, backfills, account] = await Promise.all([
      this.following.follower(),
      this.following.logs(),
      this.statuses.openBackfills(accountId),
      this.statuses.account(accountId),
    ]);
    sendResponse(reply, jsonResponse(200, statusJson({ follower, logs, backfills, account }, new Date())));
  }
}
