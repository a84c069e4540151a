import { Public } from '@certwright/service';
import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { CertsConfig } from '../config';
import { jsonAnswer, sendAnswer } from '../wire/answer';

/** Asked by clients that nobody has signed in with yet. */
@Public()
@Controller('api/v2/latest_client_version')
export class ClientVersionController {
  constructor(@Inject(CertsConfig) private readonly config: Pick<CertsConfig, 'LATEST_CLIENT_VERSION'>) {}

  @Get()
  retrieve(@Res() reply: FastifyReply) {
    sendAnswer(reply, jsonAnswer({ latest_client_version: this.config.LATEST_CLIENT_VERSION }));
  }
}
