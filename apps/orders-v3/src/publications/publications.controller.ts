import { Public } from '@certwright/service';
import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { sendResponse } from '../wire/response';
import { PublicFailsWith } from '../wire/documented-errors';
import { publications } from './publications';
import { RetrievePublication } from './retrieve-publication.use-case';

const der = { schema: { type: 'string', format: 'binary' } };

@Controller('ca')
@Public()
@ApiTags('Public')
export class PublicationsController {
  constructor(private readonly retrieval: RetrievePublication) {}

  @Get(':file')
  @ApiOperation({
    operationId: 'getPublication',
    summary: 'Certificates and revocation lists of the built-in CA',
  })
  @ApiParam({ name: 'file', enum: [...publications.keys()] })
  @ApiResponse({
    status: 200,
    description: 'Success',
    content: Object.fromEntries([...publications.values()].map(({ contentType }) => [contentType, der])),
  })
  @PublicFailsWith({ not_found: 'There is no such file' })
  async retrieve(@Param('file') file: string, @Res() reply: FastifyReply) {
    sendResponse(reply, await this.retrieval.run(file));
  }
}
