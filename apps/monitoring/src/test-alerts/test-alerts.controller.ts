import {
  Caller,
  type CallerIdentity,
  NoBody,
  type ReadMembers,
  RequirePermission,
  sendResponse,
  validMembers,
} from '@certwright/service';
import { Controller, Post, Res } from '@nestjs/common';
import { ApiBasicAuth, ApiBearerAuth, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { MonitoredCertificateSchema } from '../certificates/certificate';
import { FailsWith, posted } from '../wire/documented-errors';
import { CreateTest } from './create-test.use-case';

@Controller('api/v3/monitoring/test')
@RequirePermission('Manage Monitored Domains')
@ApiTags('Test')
@ApiBasicAuth()
@ApiBearerAuth()
export class TestAlertsController {
  constructor(private readonly creation: CreateTest) {}

  @Post()
  @ApiOperation({
    operationId: 'testAlerts',
    summary: 'Tests the alerts of the account with a certificate that does not exist',
    description:
      'It is classified and reported by webhook and mail like an unknown certificate, and marked as a test there. It is listed with source "test", not counted, and deleted after a month. At most 5 an hour.',
  })
  @ApiResponse({ status: 202, description: 'The alert follows', type: MonitoredCertificateSchema })
  @FailsWith({ too_many_tests: 'The account made 5 tests within an hour; see Retry-After', ...posted })
  async create(
    @Caller() caller: CallerIdentity,
    @NoBody() body: ReadMembers<object>,
    @Res() reply: FastifyReply,
  ) {
    validMembers(body);
    sendResponse(reply, await this.creation.run(caller));
  }
}
