import { Public } from '@certwright/service';
import { Controller, Get, Headers, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { CertsConfig } from '../config';
import { jsonAnswer, sendAnswer } from '../wire/answer';
import { Refusal } from '../wire/reasons';
import { newestClientVersion } from './client-version';

/** Requested by clients that are not linked to an account yet. */
@Public()
@Controller('api/v2/latest_client_version')
export class ClientVersionController {
  constructor(@Inject(CertsConfig) private readonly config: Pick<CertsConfig, 'LATEST_CLIENT_VERSION'>) {}

  @Get()
  retrieve(@Headers('user-agent') userAgent: string | undefined, @Res() reply: FastifyReply) {
    const version = newestClientVersion(this.config.LATEST_CLIENT_VERSION, userAgent ?? '');
    if (version === null) {
      throw new Refusal('not_found', 'The newest version of the client is not known.');
    }
    sendAnswer(reply, jsonAnswer({ latest_client_version: version }));
  }
}
