import { RequirePermission } from '@certwright/service';
import { Controller, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { jsonAnswer, sendAnswer } from '../wire/answer';
import { type Arguments, Given } from '../wire/arguments';
import { readCertificateArgument } from './import-request';
import { parsedCertificateJson } from './parsed-certificate';

/** Clients that import certificates (up to version 1.7) have them parsed here; nothing is stored. */
@Controller('api/v2/utils/parse_crt')
@RequirePermission('Order and Manage Certificates')
export class ParseCrtController {
  @Post()
  parse(@Given() given: Arguments, @Res() reply: FastifyReply) {
    sendAnswer(reply, jsonAnswer(parsedCertificateJson(readCertificateArgument(given))));
  }
}
