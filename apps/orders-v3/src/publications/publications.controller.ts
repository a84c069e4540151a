import { Public, sendResponse } from '@certwright/service';
import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { PublicFailsWith } from '../wire/documented-errors';
import { publicationExamples, publicationPattern, publicationTypes } from './publications';
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
  @ApiParam({
    name: 'file',
    description: `${publicationExamples.join(', ')}; after a renewal also intermediate-2.cer and so on`,
    schema: { type: 'string', pattern: publicationPattern.source },
    example: 'root.pem',
  })
  @ApiResponse({
    status: 200,
    description: 'Success',
    content: Object.fromEntries(publicationTypes.map((contentType) => [contentType, der])),
  })
  @PublicFailsWith({ not_found: 'There is no such file' })
  async retrieve(@Param('file') file: string, @Res() reply: FastifyReply) {
    sendResponse(reply, await this.retrieval.run(file));
  }
}
