import { Public } from '@certwright/service';
import { Controller, Get, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendAnswer } from '../wire/answer';
import { describesPublication } from './public-operations';
import { RetrievePublication } from './retrieve-publication.use-case';

@Controller('ca')
@Public()
export class PublicationsController {
  constructor(private readonly retrieval: RetrievePublication) {}

  @Get(':file')
  @describesPublication
  async retrieve(@Param('file') file: string, @Res() reply: FastifyReply) {
    sendAnswer(reply, await this.retrieval.run(file));
  }
}
