import { Public } from '@certwright/service';
import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { sendResponse } from '../wire/response';
import { PublicFailsWith } from '../wire/documented-errors';
import { DownloadCurrentCertificate } from './download-current-certificate.use-case';

@Controller('download')
@Public()
@ApiTags('Public')
export class DownloadController {
  constructor(private readonly download: DownloadCurrentCertificate) {}

  @Get(':token')
  @ApiOperation({
    operationId: 'downloadCurrentCertificate',
    summary: 'The current certificate of an order and its chain, in PEM',
  })
  @ApiResponse({
    status: 200,
    description: 'Success',
    content: { 'application/pem-certificate-chain': { schema: { type: 'string' } } },
  })
  @ApiResponse({ status: 202, description: 'There is no current certificate; see Retry-After' })
  @PublicFailsWith({ not_found: 'There is no such address' })
  async current(@Param('token') token: string, @Res() reply: FastifyReply) {
    sendResponse(reply, await this.download.run(token));
  }
}
