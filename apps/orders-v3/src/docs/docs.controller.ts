import { Public } from '@certwright/service';
import { Controller, Get, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendAnswer } from '../wire/answer';
import { Documentation } from './documentation';

@Controller('api/v3/docs')
@Public()
export class DocsController {
  constructor(private readonly documentation: Documentation) {}

  @Get()
  page(@Res() reply: FastifyReply) {
    sendAnswer(reply, this.documentation.page());
  }

  @Get(':asset')
  async asset(@Param('asset') asset: string, @Res() reply: FastifyReply) {
    sendAnswer(reply, await this.documentation.asset(asset));
  }
}
